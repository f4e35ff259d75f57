
#if defined(FMA_BY_PRAGMA) && defined(__clang__)
#pragma clang attribute pop
#endif
#if defined(__clang__)
#pragma clang attribute pop
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif
