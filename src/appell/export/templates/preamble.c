#if defined(__FAST_MATH__)
#error "-ffast-math changes results; compile without it"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
#error "numbers must be rounded to their type; on 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif

/* What is fused is written so; nothing else may be. No function of a library is called, not even
 * the one that looks after the stack. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#pragma clang attribute push(__attribute__((no_stack_protector)), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off", "no-stack-protector")
#endif

/* A multiply-add that is rounded once is one instruction, where there is one. Every x86-64
 * processor since 2013 has it; for older ones -DAPPELL_NO_FMA computes it with whole numbers.
 * Clang's __builtin_fma may call a library, which the other name never does (since Clang 16). */
#if defined(__clang__)
#if __has_builtin(__builtin_elementwise_fma)
#define INSTRUCTION(a, b, c) __builtin_elementwise_fma(a, b, c)
#endif
#elif defined(__GNUC__)
#define INSTRUCTION(a, b, c) __builtin_fma@F@(a, b, c)
#endif
#if defined(INSTRUCTION) && !defined(APPELL_NO_FMA)
#if defined(__x86_64__)
#define HAS_FMA
#if !defined(__FMA__)
#define FMA_BY_PRAGMA
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("fma"))), apply_to = function)
#else
#pragma GCC target("fma")
#endif
#endif
#elif defined(__aarch64__) || (defined(__riscv_flen) && __riscv_flen >= @BITS@) \
    || (defined(__ARM_FEATURE_FMA) && defined(__ARM_FP) && (__ARM_FP & (@BITS@ / 8)))
#define HAS_FMA
#endif
#endif

#if defined(__GNUC__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE
#endif
