
/* The square root, correctly rounded: an instruction, or else digit by digit. */
#if defined(HAS_FMA)
static inline @REAL@ square_root(@REAL@ x)
{
    @REAL@ root;
#if defined(__x86_64__)
    __asm__("vsqrts@LETTER@ %1, %1, %0" : "=x"(root) : "x"(x));
#elif defined(__aarch64__)
    __asm__("fsqrt %@LETTER@0, %@LETTER@1" : "=w"(root) : "w"(x));
#elif defined(__riscv)
    __asm__("fsqrt.@LETTER@ %0, %1" : "=f"(root) : "f"(x));
#else
    __asm__("vsqrt.f@BITS@ %@ARM_PREFIX@0, %@ARM_PREFIX@1" : "=@ARM_CLASS@"(root) : "@ARM_CLASS@"(x));
#endif
    return root;
}
#else
static @REAL@ square_root(@REAL@ x)
{
    @WORD@ m, root = 0, rest = 0;
    int e, k;
    if (!(x > 0.0@F@) || x > @LARGEST@)
        return x < 0.0@F@ ? (x - x) / (x - x) : x;
    e = (int)(bits_of(x) >> @FRACTION@);
    m = bits_of(x) & (((@WORD@)1 << @FRACTION@) - 1);
    if (e)
        m |= (@WORD@)1 << @FRACTION@;
    else
        for (e = 1; !(m >> @FRACTION@); m <<= 1)
            e--;
    e -= @BIAS@;
    if (e & 1) {
        m <<= 1;
        e -= 1;
    }
    /* Two bits of m, then of zeros, give one of the root: a bit more of it than is kept. */
    m <<= @LEAD@;
    for (k = 0; k < @FRACTION@ + 2; k++) {
        rest = rest << 2 | m >> @PAIR@;
        m <<= 2;
        root <<= 1;
        if (rest >= (root << 1 | 1)) {
            rest -= root << 1 | 1;
            root |= 1;
        }
    }
    return number_of(((root + 1) >> 1) + ((@WORD@)(e / 2 + @BIAS@ - 1) << @FRACTION@));
}
#endif
