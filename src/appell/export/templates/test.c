/* Holds @NAME@ to the results of Appell's kernel at random states;
 * with -DTIMING it also measures a step's time. */
#include <stdint.h>
#include <stdio.h>
#if defined(TIMING)
#include <time.h>
#endif

#include "@NAME@.h"

@TABLES@

static uint64_t largest = 0;

/* Numbers in the order of their values: neighbours differ by one. */
static int64_t place(@REAL@ x)
{
    union {
        @REAL@ number;
        int@BITS@_t bits;
    } either;
    either.number = x;
    return either.bits < 0 ? -(int64_t)(either.bits & INT@BITS@_MAX) : either.bits;
}

static void compare(const char *what, int state, const @REAL@ *got, const @REAL@ *wanted, int n)
{
    int j;
    for (j = 0; j < n; j++) {
        const int64_t a = place(got[j]), b = place(wanted[j]);
        uint64_t apart = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
        if (got[j] != got[j] || wanted[j] != wanted[j])
            apart = got[j] != got[j] && wanted[j] != wanted[j] ? 0 : UINT64_MAX;
        if (apart > 1)
            printf("state %d, %s[%d]: %.17g; the kernel gave %.17g\n", state, what, j,
                   (double)got[j], (double)wanted[j]);
        if (apart > largest)
            largest = apart;
    }
}

#if defined(TIMING)
/* The shortest of some rounds of about 20 ms. */
static double nanoseconds(void)
{
@MADE@
    double best = 1e30;
    int round, k;
    for (round = 0; round < 9; round++) {
        const clock_t start = clock();
        double count = 0, each;
        clock_t taken;
        do {
            for (k = 0; k < @STATES@; k++)
                @NAME@(@ARGUMENTS@);
            count += @STATES@;
            taken = clock() - start;
        } while (taken < CLOCKS_PER_SEC / 50);
        each = 1e9 * (double)taken / CLOCKS_PER_SEC / count;
        best = each < best ? each : best;
    }
    return best;
}
#endif

int main(void)
{
@MADE@
    int k;
    for (k = 0; k < @STATES@; k++) {
        @NAME@(@ARGUMENTS@);
@COMPARED@
    }
    printf("@NAME@: @STATES@ states, at most %llu units in the last place from the kernel\n",
           (unsigned long long)largest);
#if defined(TIMING)
    printf("%.4g ns a step\n", nanoseconds());
#endif
    return largest > 1;
}
