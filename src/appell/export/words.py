"""Names that C, its library or the exported code itself have already."""

from __future__ import annotations

from appell.compile.elementary import ROUTINES

_LANGUAGE = """auto break case char const continue default do double else enum extern float for goto
if inline int long register restrict return short signed sizeof static struct switch typedef union
unsigned void volatile while main"""
_CODE = """INSTRUCTION HAS_FMA FMA_BY_PRAGMA NOINLINE Either Pair Wide bits_of fused kept
leading_zeros magnitude number_of rounded shifted_left shifted_right split square_root two_over_pi
zeros_before"""
_TEST = "compare largest place"
_LIBRARY = """abort abs atexit atof atoi atol atoll bsearch calloc div exit free getenv labs ldiv
llabs lldiv malloc mblen mbstowcs mbtowc qsort rand realloc srand strtod strtof strtol strtold
strtoll strtoul strtoull system wcstombs wctomb clearerr fclose feof ferror fflush fgetc fgetpos
fgets fopen fprintf fputc fputs fread freopen fscanf fseek fsetpos ftell fwrite getc getchar gets
perror printf putc putchar puts remove rename rewind scanf setbuf setvbuf snprintf sprintf sscanf
stderr stdin stdout tmpfile tmpnam ungetc vfprintf vfscanf vprintf vscanf vsnprintf vsprintf
vsscanf memchr memcmp memcpy memmove memset strcat strchr strcmp strcoll strcpy strcspn strerror
strlen strncat strncmp strncpy strpbrk strrchr strspn strstr strtok strxfrm asctime clock ctime
difftime gmtime localtime mktime strftime time isalnum isalpha isblank iscntrl isdigit isgraph
islower isprint ispunct isspace isupper isxdigit tolower toupper localeconv longjmp raise setjmp
setlocale signal"""
_MATHEMATICS = """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp
exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log
log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo
rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc"""

_ROUTINES = {function.__name__ for function in ROUTINES.values()}
TAKEN = {*_LANGUAGE.split(), *_CODE.split(), *_ROUTINES}  # for whatever it is
OF_FUNCTIONS = {
    *_TEST.split(),
    *_LIBRARY.split(),
    *(name + kind for name in _MATHEMATICS.split() for kind in ("", "f", "l")),
}  # for a function, besides
