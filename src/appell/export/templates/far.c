
/* 2/pi, after a word of zeros. */
static const uint32_t two_over_pi[@WORDS@] = {
@TABLE@
};

/* |x| = m 2^e less multiples of pi/2, in two parts, and their number modulo 4 (Payne and Hanek,
 * 1983): of 2/pi only those bits matter that give m 2^e 2/pi modulo 4. */
static int reduced(@REAL@ x, @REAL@ *r, @REAL@ *low)
{
    const @WORD@ bits = bits_of(x);
    const @WORD@ m = (bits & (((@WORD@)1 << @FRACTION@) - 1)) | (@WORD@)1 << @FRACTION@;
    const uint32_t limbs[@LIMBS@] = {@LIMBS_OF_M@};
    const int first = (int)(bits >> @FRACTION@ & @SPECIAL@) - @FIRST@, shift = first & 31;
    const uint32_t *word = two_over_pi + (first >> 5);
    uint32_t window[6], p[6], f[3], below;
    uint64_t t, angle;
    int i, j, zeros = 0, quadrant;
    @WORD@ turn;
    @REAL@ unit, upper, lower;

    /* 192 bits of 2/pi, the lowest word first, times m; what is above is a multiple of 4. */
    for (i = 0; i < 6; i++) {
        window[5 - i] = shift ? word[i] << shift | word[i + 1] >> (32 - shift) : word[i];
        p[i] = 0;
    }
    for (j = 0; j < @LIMBS@; j++) {
        for (i = 0, t = 0; i + j < 6; i++) {
            t += (uint64_t)window[i] * limbs[j] + p[i + j];
            p[i + j] = (uint32_t)t;
            t >>= 32;
        }
    }

    /* The quadrant, and a fraction of a quarter turn between -1/2 and 1/2, without its zeros. */
    quadrant = (int)(p[5] >> 30);
    for (i = 5; i > 1; i--)
        p[i] = p[i] << 2 | p[i - 1] >> 30;
    below = p[5] >> 31 ? 0xffffffffu : 0;
    quadrant += (int)(below & 1);
    for (i = 5; i > 1; i--)
        p[i] ^= below;
    if (p[5] == 0)
        zeros = 32;
    for (i = 0; i < 3; i++)
        f[i] = p[(zeros ? 4 : 5) - i];
    while (zeros < 63 && !(f[0] >> 31)) {
        f[0] = f[0] << 1 | f[1] >> 31;
        f[1] = f[1] << 1 | f[2] >> 31;
        f[2] <<= 1;
        zeros++;
    }

    /* Times pi/2; of the product, the upper 64 bits. */
    t = (uint64_t)f[1] * @PI_LOW@u >> 32;
    t += (uint64_t)f[0] * @PI_LOW@u;
    angle = (uint64_t)f[0] * @PI_HIGH@u + (t >> 32);
    t = (uint64_t)f[1] * @PI_HIGH@u + (uint32_t)t;
    angle += t >> 32;

    /* As two numbers; words of 32 bits become numbers without a library. */
    turn = (@WORD@)(below & 1) << @TOP@;
    unit = number_of((@WORD@)(@UNIT@ - zeros) << @FRACTION@);
@UPPER@
@LOWER@
    *r = number_of(bits_of(upper * unit) ^ turn);
    *low = number_of(bits_of(lower * unit) ^ turn);
    return quadrant;
}

/* Sine and cosine beyond @FAR@, right to one unit in the last place. */
static void far_sine_cosine(@REAL@ x, @REAL@ *sine, @REAL@ *cosine)
{
    const @WORD@ sign = bits_of(x) & (@WORD@)1 << @TOP@;
    @REAL@ r, low, z, half, most, lost, s = @SIN_LAST@, c = @COS_LAST@;
    int quadrant;
    if (!(magnitude(x) <= @LARGEST@)) {
        *sine = *cosine = x - x;
        return;
    }
    quadrant = reduced(x, &r, &low);
    z = r * r;
    half = z * 0.5@F@;
@SIN_HORNER@
    s = r + fused(r * z, s, fused(-half, low, low));
    most = 1.0@F@ - half;
    lost = (1.0@F@ - most) - half;
@COS_HORNER@
    c = most + fused(-r, low, fused(z * z, c, lost));
    *sine = number_of(bits_of(quadrant & 1 ? c : s) ^ sign ^ (@WORD@)(quadrant >> 1 & 1) << @TOP@);
    quadrant += 1;
    *cosine = number_of(bits_of(quadrant & 1 ? c : s) ^ (@WORD@)(quadrant >> 1 & 1) << @TOP@);
}
