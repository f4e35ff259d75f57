
static inline @REAL@ sign_of(@REAL@ x)
{
    return x > 0.0@F@ ? 1.0@F@ : x < 0.0@F@ ? -1.0@F@ : x;
}
