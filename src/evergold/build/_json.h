/* JSON by the letter, one byte after the other: where does a value end, if it is one?
 *
 * Each function takes a cursor and returns where it got to, or NULL for what is not JSON: also half a surrogate pair, a control
 * character in a text, bytes that are not UTF-8, a number like 01, and nesting beyond MOST_DEPTH. White space is blanks and tabs: what is
 * read here stands on one line.
 *
 * How it stays within its bytes. They are those of a Python bytes object, which ends with a NUL that is not part of its
 * content, and no rule accepts a NUL: a cursor that goes on only if the byte under it is what was wanted stops there
 * at the latest. Only `plain_run` looks ahead, while 16 bytes are left before `end`. Nesting is a counter and a word of bits,
 * not recursion.
 */
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { MOST_DEPTH = 64 };

typedef const uint8_t *Cursor;

static inline int is_plain(uint8_t c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }
static inline int is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
static inline int is_tail(uint8_t c) { return (c & 0xC0) == 0x80; }

static inline Cursor skip_space(Cursor p)
{
    while (*p == ' ' || *p == '\t') p++;
    return p;
}

/* To the first byte that is not plain. Bytes above 0x7F are negative where bytes are signed, so below 0x20 as well. */
static inline Cursor plain_run(Cursor p, Cursor end)
{
#ifdef __SSE2__
    const __m128i space = _mm_set1_epi8(0x20), quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    for (; end - p >= 16; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)p);
        __m128i odd = _mm_or_si128(_mm_cmplt_epi8(bytes, space),
                                   _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash)));
        int found = _mm_movemask_epi8(odd);
        if (found) return p + __builtin_ctz((unsigned)found);
    }
#endif
    while (is_plain(*p)) p++;
    return p;
}

/* One character of more than one byte: no longer than it must be, no surrogate, none beyond U+10FFFF. */
static Cursor skip_character(Cursor p)
{
    uint8_t c = *p, low = 0x80, high = 0xBF;
    int tails = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
    if (c < 0xC2 || c > 0xF4) return NULL;
    if (c == 0xE0) low = 0xA0;
    if (c == 0xED) high = 0x9F;
    if (c == 0xF0) low = 0x90;
    if (c == 0xF4) high = 0x8F;
    if (p[1] < low || p[1] > high) return NULL;
    for (p += 2; --tails; p++)
        if (!is_tail(*p)) return NULL;
    return p;
}

static int unit_of(Cursor p) /* four hexadecimal digits, or -1 */
{
    int unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = is_digit(p[i]) ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10;
        if (digit < 0 || digit > 15 || (!is_digit(p[i]) && digit < 10)) return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

static Cursor skip_escape(Cursor p) /* behind the backslash */
{
    if (*p == 'u') {
        int unit = unit_of(p + 1);
        if (unit < 0 || (unit >= 0xDC00 && unit < 0xE000)) return NULL;
        p += 5;
        if (unit < 0xD800 || unit >= 0xE000) return p;
        if (p[0] != '\\' || p[1] != 'u') return NULL;
        unit = unit_of(p + 2);
        return unit >= 0xDC00 && unit < 0xE000 ? p + 6 : NULL;
    }
    return *p && strchr("\"\\/bfnrt", *p) ? p + 1 : NULL;
}

static Cursor skip_text(Cursor p, Cursor end) /* from the quotation mark */
{
    if (*p++ != '"') return NULL;
    while (p != NULL) {
        p = plain_run(p, end);
        if (*p == '"') return p + 1;
        p = *p == '\\' ? skip_escape(p + 1) : skip_character(p);
    }
    return NULL;
}

static Cursor skip_digits(Cursor p)
{
    if (!is_digit(*p)) return NULL;
    while (is_digit(*p)) p++;
    return p;
}

static Cursor skip_number(Cursor p)
{
    if (*p == '-') p++;
    p = *p == '0' ? p + 1 : skip_digits(p);
    if (p != NULL && *p == '.') p = skip_digits(p + 1);
    if (p != NULL && (*p == 'e' || *p == 'E')) {
        p++;
        p = skip_digits(*p == '+' || *p == '-' ? p + 1 : p);
    }
    return p;
}

static Cursor skip_word(Cursor p, const char *word)
{
    while (*word)
        if (*p++ != (uint8_t)*word++) return NULL;
    return p;
}

static Cursor skip_colon(Cursor p) /* behind a key */
{
    p = skip_space(p);
    return *p == ':' ? skip_space(p + 1) : NULL;
}

static Cursor skip_key(Cursor p, Cursor end)
{
    p = skip_text(p, end);
    return p == NULL ? NULL : skip_colon(p);
}

/* Any value. Each level of nesting has one bit of `objects`, the innermost the lowest: is it an object, or a list? */
static Cursor skip_value(Cursor p, Cursor end)
{
    uint64_t objects = 0;
    int depth = 0;
    for (;;) {
        int opens = *p == '{' || *p == '[', is_object = *p == '{';
        if (opens) {
            p = skip_space(p + 1);
            if (*p != (is_object ? '}' : ']')) {
                if (depth++ == MOST_DEPTH) return NULL;
                objects = objects << 1 | (uint64_t)is_object;
                if (is_object && (p = skip_key(p, end)) == NULL) return NULL;
                continue;
            }
            p++;
        } else {
            p = *p == '"' ? skip_text(p, end)
              : *p == 't' ? skip_word(p, "true")
              : *p == 'f' ? skip_word(p, "false")
              : *p == 'n' ? skip_word(p, "null")
                          : skip_number(p);
            if (p == NULL) return NULL;
        }
        for (;; depth--, objects >>= 1) { /* a value ends here, and perhaps what it is in */
            if (depth == 0) return p;
            is_object = objects & 1;
            p = skip_space(p);
            if (*p == ',') break;
            if (*p++ != (is_object ? '}' : ']')) return NULL;
        }
        p = skip_space(p + 1);
        if (is_object && (p = skip_key(p, end)) == NULL) return NULL;
    }
}
