
static uint64_t leading_zeros(uint64_t word)
{
    uint64_t zeros = 0;
    for (; zeros < 64 && !(word >> 63); word <<= 1)
        zeros++;
    return zeros;
}
