
/* The angle less multiples of pi/2, in three parts; then the polynomials of fdlibm (Sun, 1993) or,
 * in single precision, of Cephes (Moshier, 1989). */
static void sine_cosine(@REAL@ x, @REAL@ *sine, @REAL@ *cosine)
{
    const @REAL@ turns = fused(x, @TWO_OVER_PI@, @MAGIC@);
    const @REAL@ minus_k = -(turns - @MAGIC@);
    const @WORD@ quadrant = bits_of(turns);
    @REAL@ r, z, s = @SIN_LAST@, c = @COS_LAST@;
    if (magnitude(x) > @FAR@) {
        far_sine_cosine(x, sine, cosine);
        return;
    }
    r = fused(minus_k, @PART0@, x);
    r = fused(minus_k, @PART1@, r);
    r = fused(minus_k, @PART2@, r);
    z = r * r;
@SIN_HORNER@
    s = fused(r * z, s, r);
@COS_HORNER@
    c = fused(z * z, c, fused(z, -0.5@F@, 1.0@F@));
    *sine = number_of(bits_of(quadrant & 1 ? c : s) ^ (quadrant >> 1 & 1) << @TOP@);
    *cosine = number_of(bits_of(quadrant & 1 ? s : c) ^ ((quadrant + 1) >> 1 & 1) << @TOP@);
}
