
/* The angle of the point (x, y). With a = min(|x|, |y|) / max(|x|, |y|) it is m pi/4 + atan(t) or
 * m pi/4 - atan(t), where t is a, or (a - 1)/(a + 1) if a is beyond tan(pi/8). */
static @REAL@ arctangent(@REAL@ y, @REAL@ x)
{
    const @REAL@ width = magnitude(x), height = magnitude(y);
    const int steep = height > width, left = (int)(bits_of(x) >> @TOP@);
    const @REAL@ longer = steep ? height : width, shorter = steep ? width : height;
    const int beyond = !(fused(shorter, -@COTANGENT@, longer) >= 0.0@F@);
    const @REAL@ above = shorter - (beyond ? longer : 0.0@F@);
    const @REAL@ below = longer + (beyond ? shorter : 0.0@F@);
    const @REAL@ t = height == width ? 0.0@F@ : above / below;
    const @REAL@ z = t * t, zz = z * z;
    @REAL@ even = @EVEN_LAST@, odd = @ODD_LAST@, angle, m;
@EVEN_HORNER@
@ODD_HORNER@
    angle = fused(t * z, fused(odd, z, even), t);
    m = (steep ? -1.0@F@ : 1.0@F@) * (beyond ? 0.0@F@ : 1.0@F@) + 1.0@F@;
    m = 2.0@F@ - (left ? -m : m);
    angle = steep != left ? -angle : angle;
    angle = fused(m, @QUARTER0@, fused(m, @QUARTER1@, angle));
    return bits_of(y) >> @TOP@ ? -angle : angle;
}
