/* Many lines of JSON at once: what each is made of, and new lines put together from their values.
 *
 * This is `lines_reference.py` compiled, and no more: the same three functions, which know nothing of splits, task types
 * or reasons. Python decides, once per make of line, what becomes of such lines; what has to be done for every byte is done here.
 *
 *   survey(block, outer, inner) -> (table, makes)
 *       One pass over a block of lines. A line is taken if it is a JSON object by the letter (UTF-8 and escapes included) whose
 *       every key is one of `outer`, given once; the value of the last of these may be an object, with keys of `inner`.
 *       Keys are compared as they are written. Places count through `outer`, then `inner`. A line's make says of each place in
 *       two bytes what is there: a kind, and for a list how many elements. A line that is not taken has None for its make.
 *   pick(table, place) -> list of the bytes at that place, None where there is nothing
 *   weave(table, recipes) -> bytes
 *       For each line: nothing (None), the given bytes, or a tuple of pieces: bytes, a place (its value as it was written),
 *       or ~place (its list of texts, trimmed and numbered).
 *
 * What is not taken is no error: the careful reader looks at the line again and tells why. `_json.h` knows the grammar and how a
 * cursor stays within its bytes. A table is a capsule that owns its block, so every position in it is one that `survey`
 * has seen. The lock of the interpreter is let go where bytes are read or copied, and nothing of Python is touched there.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "_json.h"
#include "_text.h"

enum { MOST_PLACES = 4096, MOST_ELEMENTS = 255 };

typedef enum {
    ABSENT = 0,
    NOTHING = 'n',  /* null */
    TEXT = 't',     /* a text that begins with a character that is no white space */
    BLANK = 'b',    /* a text that may be blank */
    OBJECT = 'o',
    OTHER = 'v',    /* a number, true or false */
    EMPTY = 'e',    /* a list without elements */
    NUMBERED = 'N', /* a list of texts, all trimmed, each with a number in brackets in front */
    BARE = 'B',     /* a list of texts, none blank, none with a number, whose ends can be trimmed without doubt */
    TEXTS = 'T',    /* any other list of texts */
    OBJECTS = 'O',
    MIXED = 'M',    /* any other list */
} Kind;

typedef struct { uint32_t start, end; } Span;
typedef struct { Span at; uint32_t first; uint8_t kind, count; } Value; /* `first`: of its elements that are texts */
typedef struct { Cursor text; size_t size; } Run;
typedef struct { const Run *names; int count; } Names;

typedef struct {
    PyObject *block;
    Cursor begin, end;
    Value *values; /* `places` of them for each line */
    Span *texts;   /* elements of lists of texts, trimmed, without their quotation marks */
    size_t places, lines, texts_used, lines_room, texts_room;
    Names outer, inner; /* only while the block is surveyed */
} Table;

static char labels[MOST_ELEMENTS + 1][8]; /* "[1] ", "[2] " … */

/* Room for one more; a factor, so that what is there is not moved often. */
static int reserve(void **items, size_t *room, size_t used, size_t size)
{
    if (used < *room) return 1;
    size_t wanted = *room ? *room * 2 : 64;
    void *moved = realloc(*items, wanted * size);
    if (moved == NULL) return 0;
    *items = moved;
    *room = wanted;
    return 1;
}

static Cursor read_list(Table *table, Cursor p, Value *value)
{
    size_t count = 0, texts = 0, objects = 0, plain = 0, labelled = 0;
    int is_trimmed = 1;
    value->kind = EMPTY;
    value->first = (uint32_t)table->texts_used;
    p = skip_space(p + 1);
    if (*p == ']') return p + 1;
    for (;; p = skip_space(p + 1)) {
        Cursor start = p;
        if (count++ == MOST_ELEMENTS || (p = skip_value(p, table->end)) == NULL) return NULL;
        objects += *start == '{';
        if (*start == '"' && ++texts == count) {
            if (!reserve((void **)&table->texts, &table->texts_room, table->texts_used, sizeof(Span))) return NULL;
            Cursor from = start + 1, to = p - 1;
            trim(&from, &to);
            table->texts[table->texts_used++] = (Span){(uint32_t)(from - table->begin), (uint32_t)(to - table->begin)};
            is_trimmed &= from == start + 1 && to == p - 1;
            plain += (size_t)(begins_plainly(from) && ends_plainly(from, to));
            labelled += (size_t)is_labelled(from);
        }
        p = skip_space(p);
        if (*p == ']') break;
        if (*p != ',') return NULL;
    }
    value->count = (uint8_t)count;
    value->kind = objects == count ? OBJECTS : texts < count ? MIXED
                : plain < count ? TEXTS : !labelled ? BARE
                : labelled == count && is_trimmed ? NUMBERED : TEXTS;
    return p + 1;
}

static Cursor read_value(Table *table, Cursor p, Value *value)
{
    Cursor start = p;
    value->at.start = (uint32_t)(p - table->begin);
    if (*p == '[') {
        p = read_list(table, p, value);
    } else {
        p = skip_value(p, table->end);
        value->kind = *start == '{' ? OBJECT : *start == 'n' ? NOTHING : *start != '"' ? OTHER
                    : begins_plainly(start + 1) ? TEXT : BLANK;
    }
    if (p != NULL) value->at.end = (uint32_t)(p - table->begin);
    return p;
}

static int place_of(const Names *names, Cursor text, size_t size)
{
    for (int i = 0; i < names->count; i++)
        if (names->names[i].size == size && memcmp(names->names[i].text, text, size) == 0) return i;
    return -1;
}

/* The members of a line's object, or of the one that is its last declared member. */
static Cursor read_members(Table *table, const Names *names, Cursor p, Value *row)
{
    if (*p != '{') return NULL;
    p = skip_space(p + 1);
    if (*p == '}') return p + 1;
    for (;; p = skip_space(p + 1)) {
        Cursor key = p + 1;
        if ((p = skip_text(p, table->end)) == NULL) return NULL;
        int place = place_of(names, key, (size_t)(p - key) - 1);
        if (place < 0 || row[place].kind != ABSENT || (p = skip_colon(p)) == NULL) return NULL;
        if (names == &table->outer && place == names->count - 1 && *p != 'n') {
            row[place].kind = OBJECT;
            row[place].at.start = (uint32_t)(p - table->begin);
            p = read_members(table, &table->inner, p, row + names->count);
            if (p != NULL) row[place].at.end = (uint32_t)(p - table->begin);
        } else {
            p = read_value(table, p, &row[place]);
        }
        if (p == NULL) return NULL;
        p = skip_space(p);
        if (*p == '}') return p + 1;
        if (*p != ',') return NULL;
    }
}

static int read_lines(Table *table) /* 0: out of memory */
{
    Cursor p = table->begin, end = table->end;
    size_t row_size = table->places * sizeof(Value);
    for (; p < end; table->lines++) {
        if (!reserve((void **)&table->values, &table->lines_room, table->lines, row_size)) return 0;
        Value *row = table->values + table->lines * table->places;
        size_t texts_before = table->texts_used;
        memset(row, 0, row_size);
        Cursor behind = read_members(table, &table->outer, skip_space(p), row);
        if (behind != NULL) behind = skip_space(behind);
        if (behind != NULL && *behind == '\r') behind++;
        if (behind == NULL || (behind < end && *behind != '\n')) {
            memset(row, 0, row_size);
            table->texts_used = texts_before;
            behind = memchr(p, '\n', (size_t)(end - p));
        }
        p = behind != NULL && behind < end ? behind + 1 : end;
    }
    return 1;
}

static const char TABLE[] = "evergold.build._lines.table";

static void free_table(Table *table)
{
    Py_XDECREF(table->block);
    free(table->values);
    free(table->texts);
    free(table);
}

static void drop_table(PyObject *capsule) { free_table(PyCapsule_GetPointer(capsule, TABLE)); }

static int read_names(PyObject *given, Run *names, Names *result)
{
    Py_ssize_t count = PyTuple_Size(given);
    if (count > MOST_PLACES / 2) {
        PyErr_Format(PyExc_ValueError, "%zd names are too many; at most %d", count, MOST_PLACES / 2);
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        char *text;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(given, i), &text, &size) < 0) return 0;
        names[i] = (Run){(Cursor)text, (size_t)size};
    }
    *result = (Names){names, (int)count};
    return 1;
}

static PyObject *make_of(const Value *row, size_t places)
{
    char make[2 * MOST_PLACES];
    int taken = 0;
    for (size_t i = 0; i < places; i++) {
        taken |= row[i].kind;
        make[2 * i] = (char)row[i].kind;
        make[2 * i + 1] = (char)row[i].count;
    }
    if (!taken) Py_RETURN_NONE;
    return PyBytes_FromStringAndSize(make, (Py_ssize_t)(2 * places));
}

static PyObject *value_of(const Table *table, const Value *value)
{
    if (value->kind == ABSENT) Py_RETURN_NONE;
    return PyBytes_FromStringAndSize((const char *)table->begin + value->at.start, value->at.end - value->at.start);
}

/* A list with an object for each line: its make, or its value at a place. */
static PyObject *list_of(const Table *table, const size_t *place)
{
    PyObject *list = PyList_New((Py_ssize_t)table->lines);
    for (size_t line = 0; list != NULL && line < table->lines; line++) {
        const Value *row = table->values + line * table->places;
        PyObject *item = place ? value_of(table, row + *place) : make_of(row, table->places);
        if (item == NULL || PyList_SetItem(list, (Py_ssize_t)line, item) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *survey(PyObject *module, PyObject *args)
{
    PyObject *block, *outer, *inner, *capsule, *makes;
    Run outer_names[MOST_PLACES / 2], inner_names[MOST_PLACES / 2];
    char *text;
    Py_ssize_t size;
    int has_read;
    if (!PyArg_ParseTuple(args, "SO!O!", &block, &PyTuple_Type, &outer, &PyTuple_Type, &inner)) return NULL;
    if (PyBytes_AsStringAndSize(block, &text, &size) < 0) return NULL;
    if ((uint64_t)size >= UINT32_MAX) return PyErr_Format(PyExc_ValueError, "%zd bytes are too many for one block", size);
    Table *table = calloc(1, sizeof(Table));
    if (table == NULL) return PyErr_NoMemory();
    if (!read_names(outer, outer_names, &table->outer) || !read_names(inner, inner_names, &table->inner)) {
        free_table(table);
        return NULL;
    }
    table->block = Py_NewRef(block);
    table->begin = (Cursor)text;
    table->end = table->begin + size;
    table->places = (size_t)(table->outer.count + table->inner.count);
    Py_BEGIN_ALLOW_THREADS
    has_read = read_lines(table);
    Py_END_ALLOW_THREADS
    capsule = has_read ? PyCapsule_New(table, TABLE, drop_table) : PyErr_NoMemory();
    if (capsule == NULL) {
        free_table(table);
        return NULL;
    }
    makes = list_of(table, NULL);
    return makes == NULL ? (Py_DECREF(capsule), NULL) : Py_BuildValue("NN", capsule, makes);
}

static PyObject *pick(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    Py_ssize_t place;
    if (!PyArg_ParseTuple(args, "On", &capsule, &place)) return NULL;
    Table *table = PyCapsule_GetPointer(capsule, TABLE);
    if (table == NULL) return NULL;
    if (place < 0 || (size_t)place >= table->places) return PyErr_Format(PyExc_IndexError, "no place %zd", place);
    return list_of(table, &(size_t){(size_t)place});
}

/* What is written, run after run: first collected, because its size is wanted before it is copied. */
typedef struct { Run *runs; size_t used, room, bytes; } Runs;

static int add(Runs *runs, const void *text, size_t size)
{
    if (!reserve((void **)&runs->runs, &runs->room, runs->used, sizeof(Run))) return PyErr_NoMemory(), 0;
    runs->runs[runs->used++] = (Run){text, size};
    runs->bytes += size;
    return 1;
}

static int add_numbered(Runs *runs, const Table *table, const Value *value)
{
    for (size_t i = 0; i < value->count; i++) {
        const Span *text = &table->texts[value->first + i];
        const char *opening = i ? "\",\"" : "[\"", *label = labels[i + 1];
        if (!add(runs, opening, strlen(opening)) || !add(runs, label, strlen(label))
            || !add(runs, table->begin + text->start, text->end - text->start))
            return 0;
    }
    return add(runs, "\"]", 2);
}

static int add_piece(Runs *runs, const Table *table, const Value *row, PyObject *piece)
{
    char *text;
    Py_ssize_t size;
    if (!PyLong_Check(piece)) return PyBytes_AsStringAndSize(piece, &text, &size) == 0 && add(runs, text, (size_t)size);
    Py_ssize_t place = PyLong_AsSsize_t(piece), plain = place < 0 ? ~place : place;
    if (PyErr_Occurred()) return 0;
    if ((size_t)plain >= table->places || row[plain].kind == ABSENT || (place < 0 && row[plain].kind != BARE))
        return PyErr_Format(PyExc_ValueError, "nothing to be written at place %zd", place), 0;
    const Value *value = row + plain;
    return place < 0 ? add_numbered(runs, table, value)
                     : add(runs, table->begin + value->at.start, value->at.end - value->at.start);
}

static int add_line(Runs *runs, const Table *table, const Value *row, PyObject *recipe)
{
    if (recipe == Py_None) return 1;
    if (!PyTuple_Check(recipe)) return add_piece(runs, table, row, recipe);
    Py_ssize_t count = PyTuple_Size(recipe);
    for (Py_ssize_t i = 0; i < count; i++)
        if (!add_piece(runs, table, row, PyTuple_GetItem(recipe, i))) return 0;
    return 1;
}

static PyObject *weave(PyObject *module, PyObject *args)
{
    PyObject *capsule, *recipes, *written = NULL;
    Runs runs = {0};
    size_t line = 0;
    if (!PyArg_ParseTuple(args, "OO!", &capsule, &PyTuple_Type, &recipes)) return NULL;
    const Table *table = PyCapsule_GetPointer(capsule, TABLE);
    if (table == NULL) return NULL;
    if ((size_t)PyTuple_Size(recipes) != table->lines)
        return PyErr_Format(PyExc_ValueError, "%zd recipes for %zu lines", PyTuple_Size(recipes), table->lines);
    while (line < table->lines
           && add_line(&runs, table, table->values + line * table->places, PyTuple_GetItem(recipes, (Py_ssize_t)line)))
        line++;
    if (line == table->lines) written = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)runs.bytes);
    if (written != NULL) {
        char *to = PyBytes_AsString(written);
        Py_BEGIN_ALLOW_THREADS
        for (size_t i = 0; i < runs.used; to += runs.runs[i++].size) memcpy(to, runs.runs[i].text, runs.runs[i].size);
        Py_END_ALLOW_THREADS
    }
    free(runs.runs);
    return written;
}

static PyMethodDef functions[] = {
    {"survey", survey, METH_VARARGS, "survey(block, outer, inner): a table of the lines' values, and each line's make."},
    {"pick", pick, METH_VARARGS, "pick(table, place): the bytes that each line has at a place."},
    {"weave", weave, METH_VARARGS, "weave(table, recipes): new lines, put together by one recipe for each line."},
    {NULL, NULL, 0, NULL},
};

static int prepare(PyObject *module)
{
    for (int i = 1; i <= MOST_ELEMENTS; i++) PyOS_snprintf(labels[i], sizeof labels[i], "[%d] ", i);
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_lines", NULL, 0, functions, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__lines(void) { return PyModuleDef_Init(&definition); }
