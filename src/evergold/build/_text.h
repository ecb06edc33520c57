/* The two ends of a text, as JSON has it: is there white space, and where does it stop?
 *
 * A text is what stands between two quotation marks, from `start` up to `end`, and is known to be well-formed. What can be said for
 * certain from a few bytes is said; in doubt (an escape by number, the first or last byte of a character that some white space
 * shares) a text neither begins nor ends plainly, and is left to the careful way, which decodes it.
 */
static const char SEEN[] = "\"\\/", WHITE[] = "nrtf"; /* letters of escapes */

static inline int is_printed(uint8_t c) { return is_plain(c) && c != ' ' && c != 0x7F; }

/* Whether the byte at `p` is the letter of an escape. The quotation mark before the text ends the search. */
static int is_escaped(Cursor p)
{
    Cursor q = p;
    while (q[-1] == '\\') q--;
    return (p - q) & 1;
}

/* Leaves out blanks, and line breaks and tabs, which are escaped. */
static void trim(Cursor *start, Cursor *end)
{
    Cursor p = *start, q = *end;
    for (;;) {
        if (p < q && *p == ' ') p++;
        else if (q - p > 1 && *p == '\\' && strchr(WHITE, p[1])) p += 2;
        else break;
    }
    for (;;) {
        if (p < q && q[-1] == ' ') q--;
        else if (q - p > 1 && strchr(WHITE, q[-1]) && is_escaped(q - 1)) q -= 2;
        else break;
    }
    *start = p;
    *end = q;
}

static int begins_plainly(Cursor start)
{
    if (*start == '\\') return strchr(SEEN, start[1]) != NULL;
    return is_printed(*start) || (*start >= 0xC3 && *start != 0xE1 && *start != 0xE2 && *start != 0xE3);
}

static int ends_plainly(Cursor start, Cursor end)
{
    Cursor last = end - 1;
    if (start == end) return 0;
    if (is_escaped(last)) return strchr(SEEN, *last) != NULL;
    if (last - start > 4 && last[-4] == 'u' && is_escaped(last - 4)) return 0;
    return is_printed(*last) || (*last >= 0x8B && strchr("\x9F\xA0\xA8\xA9\xAF", *last) == NULL);
}

static int is_labelled(Cursor start) /* as in "[12] …" */
{
    if (*start != '[') return 0;
    start = skip_digits(start + 1);
    return start != NULL && *start == ']';
}
