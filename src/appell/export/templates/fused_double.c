
/* a b + c, rounded once. */
#if defined(HAS_FMA)
#define fused(a, b, c) INSTRUCTION(a, b, c)
#else
typedef struct {
    uint64_t high, low;
} Wide;

static Wide shifted_left(Wide x, int by)
{
    Wide y = x;
    if (by >= 64) {
        y.high = x.low << (by - 64);
        y.low = 0;
    } else if (by > 0) {
        y.high = x.high << by | x.low >> (64 - by);
        y.low = x.low << by;
    }
    return y;
}

/* Bits that are lost set the last one: it is seen that there was something. */
static Wide shifted_right(Wide x, int by)
{
    Wide y = {0, (x.high | x.low) != 0};
    if (by == 0) {
        y = x;
    } else if (by < 64) {
        y.high = x.high >> by;
        y.low = x.high << (64 - by) | x.low >> by | (x.low << (64 - by) != 0);
    } else if (by == 64) {
        y.low = x.high | (x.low != 0);
    } else if (by < 128) {
        y.low = x.high >> (by - 64) | ((x.high << (128 - by) | x.low) != 0);
    }
    return y;
}

static int zeros_before(Wide x)
{
    int zeros = x.high ? 0 : 64;
    uint64_t word = x.high ? x.high : x.low;
    for (; !(word >> 63); word <<= 1)
        zeros++;
    return zeros;
}

/* A finite number that is not zero is m 2^e; this gives e. */
static int split(double x, uint64_t *m)
{
    const uint64_t bits = bits_of(x);
    const int e = (int)(bits >> 52 & 0x7ff);
    *m = bits & 0xfffffffffffffu;
    if (e)
        *m |= (uint64_t)1 << 52;
    return (e ? e : 1) - 1075;
}

/* What is below the unit 2^e of a wide number, whose top bit is set, decides how it is rounded. */
static double rounded(Wide x, int e, uint64_t sign)
{
    const int top = e + 127;
    const uint64_t word = x.high | (x.low != 0);
    const int lost = top < -1022 ? 11 - 1022 - top : 11;
    uint64_t m, rest, half;
    if (top > 1023)
        return number_of(sign | (uint64_t)0x7ff << 52);
    if (lost > 64)
        return number_of(sign);
    m = lost == 64 ? 0 : word >> lost;
    rest = lost == 64 ? word : word & (((uint64_t)1 << lost) - 1);
    half = (uint64_t)1 << (lost - 1);
    m += rest > half || (rest == half && (m & 1));
    return number_of(sign | (m + (lost > 11 ? 0 : (uint64_t)(top + 1022) << 52)));
}

static double fused(double a, double b, double c)
{
    const uint64_t sign_bit = (uint64_t)1 << 63;
    uint64_t ma, mb, mc, a0, a1, b0, b1, middle, carried;
    uint64_t sign = (bits_of(a) ^ bits_of(b)) & sign_bit;
    const uint64_t sign_c = bits_of(c) & sign_bit;
    Wide p, q;
    int e, f, shift;
    const double largest = @LARGEST@;
    if (!(magnitude(a) <= largest && magnitude(b) <= largest) || a == 0.0 || b == 0.0)
        return a * b + c;
    if (!(magnitude(c) <= largest))
        return c;
    if (c == 0.0)
        return a * b;
    e = split(a, &ma) + split(b, &mb);
    f = split(c, &mc);

    /* The product, exactly. */
    a0 = ma & 0xffffffffu;
    a1 = ma >> 32;
    b0 = mb & 0xffffffffu;
    b1 = mb >> 32;
    carried = a0 * b0 >> 32;
    middle = a1 * b0 + carried;
    carried = middle >> 32;
    middle = a0 * b1 + (middle & 0xffffffffu);
    p.high = a1 * b1 + carried + (middle >> 32);
    p.low = ma * mb;
    q.high = 0;
    q.low = mc;

    /* Both as wide as can be, with one bit free for a carry; then with the same unit. */
    shift = zeros_before(p) - 1;
    p = shifted_left(p, shift);
    e -= shift;
    shift = zeros_before(q) - 1;
    q = shifted_left(q, shift);
    f -= shift;
    if (e < f) {
        p = shifted_right(p, f - e);
        e = f;
    } else {
        q = shifted_right(q, e - f);
    }

    if (sign == sign_c) {
        p.low += q.low;
        p.high += q.high + (p.low < q.low);
    } else {
        if (p.high < q.high || (p.high == q.high && p.low < q.low)) {
            const Wide other = p;
            p = q;
            q = other;
            sign = sign_c;
        }
        p.high -= q.high + (p.low < q.low);
        p.low -= q.low;
    }
    if (!(p.high | p.low))
        return 0.0;
    shift = zeros_before(p);
    return rounded(shifted_left(p, shift), e - shift, sign);
}
#endif
