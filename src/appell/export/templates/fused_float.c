
/* a b + c, rounded once. */
#if defined(HAS_FMA)
#define fused(a, b, c) INSTRUCTION(a, b, c)
#else
/* The product is exact in double precision. The sum is rounded to an odd number there, so that
 * rounding it again is right (Boldo and Melquiond, 2008). */
static float fused(float a, float b, float c)
{
    union {
        double number;
        uint64_t bits;
    } sum;
    const double p = (double)a * (double)b;
    double part, error;
    sum.number = p + (double)c;
    part = sum.number - p;
    error = (p - (sum.number - part)) + ((double)c - part);
    if (error == error && error != 0.0 && !(sum.bits & 1)) {
        if ((error > 0.0) == (sum.number > 0.0))
            sum.bits += 1;
        else
            sum.bits -= 1;
    }
    return (float)sum.number;
}
#endif
