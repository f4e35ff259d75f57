
typedef union {
    @REAL@ number;
    @WORD@ bits;
} Either;

static inline @WORD@ bits_of(@REAL@ x)
{
    Either either;
    either.number = x;
    return either.bits;
}

static inline @REAL@ number_of(@WORD@ bits)
{
    Either either;
    either.bits = bits;
    return either.number;
}

static inline @REAL@ magnitude(@REAL@ x)
{
    return number_of(bits_of(x) & ~((@WORD@)1 << @TOP@));
}
