/* The spans of an ordinary OTLP request, read from its bytes without a protobuf object for every attribute.
 *
 *   spans_in(body, most_records, most_keys, most_values) -> list of (resource, scope, spans) or None
 *       `resource` is a dict of attributes, `scope` a name or None, and each span a tuple in the order of `WireSpan`, up to its
 *       events, which are tuples in the order of `WireEvent`.
 *
 * None means that the request is not ordinary, and `protobuf.py` reads it with the protobuf package, which alone gives reasons:
 * bytes that are no message, a text that is not UTF-8, an id of a wrong length or of zeros, more of anything than is allowed,
 * a field given twice that there is once, a value of bytes, fields of other types than the protocol's. So leaving out
 * is always safe, and what is read here is what that package would have read (`tests/sources/test_compiled_spans.py`).
 *
 * How it stays within its bytes: a `Message` is a range, every field is cut from it by `next_field`, which compares a length
 * with what is left before it moves on, and a field that is a message becomes a range of its own, inside the first.
 * Values nest at most MOST_DEPTH deep. A function that returns NULL or 0 without an exception has found something that is not
 * ordinary.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>
#include <string.h>

enum { MOST_DEPTH = 32, MOST_KNOWN = 1024, LONGEST_KNOWN = 54, STATUS_ERROR = 2 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

typedef struct { const uint8_t *at, *end; } Message;
typedef struct { uint32_t number; int type; uint64_t value; Message bytes; } Field;
typedef struct { PyObject *text; uint8_t size; uint8_t bytes[LONGEST_KNOWN]; } Known;
/* Names of attributes come again with every span: the same object each time, whose hash is known. */
typedef struct { Known known[MOST_KNOWN]; } State;
typedef struct { State *state; Py_ssize_t records, keys, values, spans; } Reader; /* what is allowed, and the spans so far */

static int read_varint(Message *message, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && message->at < message->end; shift += 7) {
        uint8_t byte = *message->at++;
        if (shift == 63 && byte > 1) return 0;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return 1;
    }
    return 0;
}

static uint64_t little_endian(const uint8_t *at, int size)
{
    uint64_t value = 0;
    for (int i = size; i-- > 0;) value = value << 8 | at[i];
    return value;
}

/* Cut the next field off: 1, or 0 for what is no field. */
static int next_field(Message *message, Field *field)
{
    uint64_t tag;
    if (!read_varint(message, &tag) || tag > UINT32_MAX || tag < 8) return 0;
    field->number = (uint32_t)(tag >> 3);
    field->type = (int)(tag & 7);
    if (field->type == VARINT) return read_varint(message, &field->value);
    size_t left = (size_t)(message->end - message->at), size;
    if (field->type == BYTES) {
        if (!read_varint(message, &field->value)) return 0;
        left = (size_t)(message->end - message->at);
        if (field->value > left) return 0;
        size = (size_t)field->value;
        field->bytes = (Message){message->at, message->at + size};
    } else {
        size = field->type == FIXED64 ? 8 : 4;
        if ((field->type != FIXED64 && field->type != FIXED32) || size > left) return 0;
        field->value = little_endian(message->at, (int)size);
    }
    message->at += size;
    return 1;
}

/* Whether a field that a message has once comes for the first time; given again, parts of it would have to be merged. */
static int is_first(uint32_t *seen, uint32_t number)
{
    uint32_t bit = number < 32 ? (uint32_t)1 << number : 0;
    int first = !(*seen & bit);
    *seen |= bit;
    return first;
}

static PyObject *read_text(Message bytes)
{
    PyObject *text = PyUnicode_DecodeUTF8((const char *)bytes.at, bytes.end - bytes.at, NULL);
    if (text == NULL && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) PyErr_Clear();
    return text;
}

/* Whether it is a text; for fields that are not kept. */
static int is_text(Message bytes)
{
    PyObject *text = read_text(bytes);
    Py_XDECREF(text);
    return text != NULL;
}

static PyObject *read_key(Reader *reader, Message bytes)
{
    size_t size = (size_t)(bytes.end - bytes.at);
    if (size > LONGEST_KNOWN) return read_text(bytes);
    uint32_t hash = 2166136261u;
    for (const uint8_t *at = bytes.at; at < bytes.end; at++) hash = (hash ^ *at) * 16777619u;
    Known *known = reader->state->known + (hash ^ hash >> 15) % MOST_KNOWN;
    if (known->text == NULL || known->size != size || memcmp(known->bytes, bytes.at, size) != 0) {
        PyObject *text = read_text(bytes), *before = known->text;
        if (text == NULL) return NULL;
        known->text = text;
        known->size = (uint8_t)size;
        memcpy(known->bytes, bytes.at, size);
        Py_XDECREF(before);
    }
    return Py_NewRef(known->text);
}

/* An id as hex digits; of another length, or all zeros, it is for others to refuse. */
static PyObject *read_id(Message bytes, int size)
{
    static const char digits[] = "0123456789abcdef";
    char hex[32];
    int any = 0;
    if (bytes.end - bytes.at != size) return NULL;
    for (int i = 0; i < size; i++) {
        any |= bytes.at[i];
        hex[2 * i] = digits[bytes.at[i] >> 4];
        hex[2 * i + 1] = digits[bytes.at[i] & 15];
    }
    return any ? PyUnicode_DecodeASCII(hex, 2 * size, NULL) : NULL;
}

static int read_pair(Reader *reader, Message pair, PyObject *into, int depth, Py_ssize_t *room);

/* The values of a list or of an object; `room` is how many more one attribute may hold. */
static PyObject *read_many(Reader *reader, Message message, int is_list, int depth, Py_ssize_t *room);

static PyObject *read_value(Reader *reader, Message message, int depth, Py_ssize_t *room)
{
    Field field = {0};
    if (message.at == message.end) return Py_NewRef(Py_None);
    /* One kind of value and nothing behind it. */
    if (!next_field(&message, &field) || message.at != message.end) return NULL;
    switch (field.number << 3 | (uint32_t)field.type) {
    case 1 << 3 | BYTES: return read_text(field.bytes);
    case 2 << 3 | VARINT: return PyBool_FromLong(field.value != 0);
    case 3 << 3 | VARINT: return PyLong_FromLongLong((int64_t)field.value);
    case 4 << 3 | FIXED64: {
        double number;
        memcpy(&number, &field.value, sizeof number);
        return PyFloat_FromDouble(number);
    }
    case 5 << 3 | BYTES: return read_many(reader, field.bytes, 1, depth + 1, room);
    case 6 << 3 | BYTES: return read_many(reader, field.bytes, 0, depth + 1, room);
    default: return NULL;
    }
}

static PyObject *read_many(Reader *reader, Message message, int is_list, int depth, Py_ssize_t *room)
{
    Field field = {0};
    PyObject *many = depth > MOST_DEPTH ? NULL : is_list ? PyList_New(0) : PyDict_New();
    int done = many != NULL;
    while (done && message.at < message.end) {
        done = next_field(&message, &field) && field.number == 1 && field.type == BYTES && --*room >= 0;
        if (done && is_list) {
            PyObject *value = read_value(reader, field.bytes, depth, room);
            done = value != NULL && PyList_Append(many, value) == 0;
            Py_XDECREF(value);
        } else if (done) {
            done = read_pair(reader, field.bytes, many, depth, room);
        }
    }
    if (!done) Py_CLEAR(many);
    return many;
}

/* Put a key and its value into a dict. */
static int read_pair(Reader *reader, Message pair, PyObject *into, int depth, Py_ssize_t *room)
{
    Field field = {0};
    Message key = {pair.at, pair.at}, value = key;
    uint32_t seen = 0;
    while (pair.at < pair.end) {
        if (!next_field(&pair, &field) || field.type != BYTES || !is_first(&seen, field.number)) return 0;
        if (field.number == 1) key = field.bytes;
        else if (field.number == 2) value = field.bytes;
        else return 0;
    }
    PyObject *name = read_key(reader, key), *content = name ? read_value(reader, value, depth, room) : NULL;
    int done = content != NULL && PyDict_SetItem(into, name, content) == 0;
    Py_XDECREF(name);
    Py_XDECREF(content);
    return done;
}

static int read_attribute(Reader *reader, Field *field, PyObject *into, Py_ssize_t *count)
{
    Py_ssize_t room = reader->values;
    return field->type == BYTES && ++*count <= reader->keys && read_pair(reader, field->bytes, into, 0, &room);
}

/* A message of attributes and of fields that are not kept: `texts` has a bit for the number of each of them that is a text. */
static int read_attributes(Reader *reader, Message message, uint32_t number, uint32_t texts, PyObject *into)
{
    Field field = {0};
    Py_ssize_t count = 0;
    while (message.at < message.end) {
        if (!next_field(&message, &field)) return 0;
        if (field.number == number) {
            if (!read_attribute(reader, &field, into, &count)) return 0;
        } else if (field.number < 32 && texts >> field.number & 1) {
            if (field.type != BYTES || !is_text(field.bytes)) return 0;
        } else if (field.type == BYTES && (field.number > 2 || number == 1)) {
            return 0; /* of a resource: what it refers to; of a link all but its ids */
        }
    }
    return 1;
}

static PyObject *read_event(Reader *reader, Message message)
{
    Field field = {0};
    Message name = {message.at, message.at};
    uint64_t time = 0;
    Py_ssize_t count = 0;
    uint32_t seen = 0;
    PyObject *attributes = PyDict_New();
    int done = attributes != NULL;
    while (done && message.at < message.end) {
        done = next_field(&message, &field) && (field.number == 3 || is_first(&seen, field.number));
        if (done && field.number == 1) done = field.type == FIXED64, time = field.value;
        else if (done && field.number == 2) done = field.type == BYTES, name = field.bytes;
        else if (done && field.number == 3) done = read_attribute(reader, &field, attributes, &count);
    }
    PyObject *event = NULL, *text = done ? read_key(reader, name) : NULL;
    if (text != NULL) event = Py_BuildValue("(OKO)", text, (unsigned long long)time, attributes);
    Py_XDECREF(text);
    Py_XDECREF(attributes);
    return event;
}

typedef struct {
    Message trace_id, id, parent_id, name, message;
    uint64_t start, end;
    int failed;
    uint32_t seen;
    Py_ssize_t attributes_count, events_count;
    PyObject *attributes, *events;
} Span;

static int read_status(Message message, Span *span)
{
    Field field = {0};
    uint32_t seen = 0;
    while (message.at < message.end) {
        if (!next_field(&message, &field) || !is_first(&seen, field.number)) return 0;
        if (field.number == 2) {
            if (field.type != BYTES) return 0;
            span->message = field.bytes;
        } else if (field.number == 3) {
            if (field.type != VARINT) return 0;
            span->failed = (int32_t)field.value == STATUS_ERROR;
        }
    }
    return 1;
}

static int read_link(Reader *reader, Message message)
{
    PyObject *attributes = PyDict_New();
    int done = attributes != NULL && read_attributes(reader, message, 4, 1 << 3, attributes);
    Py_XDECREF(attributes);
    return done;
}

static int read_span_field(Reader *reader, Field *field, Span *span)
{
    int is_repeated = field->number == 9 || field->number == 11 || field->number == 13;
    if (!is_repeated && !is_first(&span->seen, field->number)) return 0;
    switch (field->number) {
    case 1: span->trace_id = field->bytes; return field->type == BYTES;
    case 2: span->id = field->bytes; return field->type == BYTES;
    case 3: return field->type == BYTES && is_text(field->bytes);
    case 4: span->parent_id = field->bytes; return field->type == BYTES;
    case 5: span->name = field->bytes; return field->type == BYTES;
    case 7: span->start = field->value; return field->type == FIXED64;
    case 8: span->end = field->value; return field->type == FIXED64;
    case 9: return read_attribute(reader, field, span->attributes, &span->attributes_count);
    case 11: {
        if (field->type != BYTES || ++span->events_count > reader->keys) return 0;
        PyObject *event = read_event(reader, field->bytes);
        int done = event != NULL && PyList_Append(span->events, event) == 0;
        Py_XDECREF(event);
        return done;
    }
    case 13: return field->type == BYTES && read_link(reader, field->bytes);
    case 15: return field->type == BYTES && read_status(field->bytes, span);
    default: return 1; /* kind, flags, counts of what was dropped, and what a later protocol adds */
    }
}

/* A text, or None for an empty one. */
static PyObject *text_or_none(Message bytes)
{
    return bytes.at == bytes.end ? Py_NewRef(Py_None) : read_text(bytes);
}

static PyObject *span_tuple(Reader *reader, const Span *span)
{
    PyObject *made = NULL;
    int is_root = span->parent_id.at == span->parent_id.end;
    PyObject *trace_id = read_id(span->trace_id, 16), *id = trace_id ? read_id(span->id, 8) : NULL;
    PyObject *parent = !id ? NULL : is_root ? Py_NewRef(Py_None) : read_id(span->parent_id, 8);
    PyObject *name = parent ? read_key(reader, span->name) : NULL;
    PyObject *message = name ? text_or_none(span->message) : NULL;
    if (message != NULL)
        made = Py_BuildValue("(OOOOKKOOOO)", trace_id, id, parent, name, (unsigned long long)span->start,
                             (unsigned long long)span->end, span->failed ? Py_True : Py_False, message,
                             span->attributes, span->events);
    Py_XDECREF(trace_id);
    Py_XDECREF(id);
    Py_XDECREF(parent);
    Py_XDECREF(name);
    Py_XDECREF(message);
    return made;
}

static PyObject *read_span(Reader *reader, Message message)
{
    Field field = {0};
    Message none = {message.at, message.at};
    Span span = {none, none, none, none, none, .attributes = PyDict_New(), .events = PyList_New(0)};
    int done = span.attributes != NULL && span.events != NULL;
    while (done && message.at < message.end) done = next_field(&message, &field) && read_span_field(reader, &field, &span);
    PyObject *made = done ? span_tuple(reader, &span) : NULL;
    Py_XDECREF(span.attributes);
    Py_XDECREF(span.events);
    return made;
}

/* The name of a scope, or None; its version and attributes are not kept. */
static PyObject *read_scope(Reader *reader, Message message)
{
    Field field = {0};
    Message name = {message.at, message.at};
    Py_ssize_t count = 0;
    uint32_t seen = 0;
    PyObject *unused = PyDict_New();
    int done = unused != NULL;
    while (done && message.at < message.end) {
        done = next_field(&message, &field) && (field.number == 3 || is_first(&seen, field.number));
        if (done && field.number == 1) done = field.type == BYTES, name = field.bytes;
        else if (done && field.number == 2) done = field.type == BYTES && is_text(field.bytes);
        else if (done && field.number == 3) done = read_attribute(reader, &field, unused, &count);
    }
    Py_XDECREF(unused);
    return done ? text_or_none(name) : NULL;
}

static int read_scope_spans(Reader *reader, Message message, PyObject *resource, PyObject *into)
{
    Field field = {0};
    PyObject *scope = NULL, *spans = PyList_New(0);
    int done = spans != NULL;
    while (done && message.at < message.end) {
        done = next_field(&message, &field);
        if (!done || field.number > 3) continue;
        done = field.type == BYTES;
        if (done && field.number == 1) {
            done = scope == NULL && (scope = read_scope(reader, field.bytes)) != NULL;
        } else if (done && field.number == 2) {
            PyObject *span = ++reader->spans <= reader->records ? read_span(reader, field.bytes) : NULL;
            done = span != NULL && PyList_Append(spans, span) == 0;
            Py_XDECREF(span);
        } else if (done) {
            done = is_text(field.bytes);
        }
    }
    PyObject *group = done ? Py_BuildValue("(OOO)", resource, scope ? scope : Py_None, spans) : NULL;
    done = group != NULL && PyList_Append(into, group) == 0;
    Py_XDECREF(group);
    Py_XDECREF(scope);
    Py_XDECREF(spans);
    return done;
}

static int read_resource_spans(Reader *reader, Message message, PyObject *into)
{
    Field field = {0};
    Py_ssize_t scopes = 0;
    uint32_t seen = 0;
    PyObject *resource = PyDict_New(); /* filled when it comes, which may be behind its spans */
    int done = resource != NULL;
    while (done && message.at < message.end) {
        done = next_field(&message, &field);
        if (!done || field.number > 3) continue;
        done = field.type == BYTES;
        if (done && field.number == 1) done = is_first(&seen, 1) && read_attributes(reader, field.bytes, 1, 0, resource);
        else if (done && field.number == 2)
            done = ++scopes <= reader->records && read_scope_spans(reader, field.bytes, resource, into);
        else if (done) done = is_text(field.bytes);
    }
    Py_XDECREF(resource);
    return done;
}

static PyObject *spans_in(PyObject *module, PyObject *args)
{
    PyObject *body;
    char *start;
    Py_ssize_t size, resources = 0;
    Reader reader = {.state = PyModule_GetState(module)};
    if (!PyArg_ParseTuple(args, "Snnn", &body, &reader.records, &reader.keys, &reader.values)) return NULL;
    if (PyBytes_AsStringAndSize(body, &start, &size) < 0) return NULL;
    Message message = {(const uint8_t *)start, (const uint8_t *)start + size};
    Field field = {0};
    PyObject *groups = PyList_New(0);
    int done = groups != NULL;
    while (done && message.at < message.end) {
        done = next_field(&message, &field);
        if (done && field.number == 1)
            done = field.type == BYTES && ++resources <= reader.records
                   && read_resource_spans(&reader, field.bytes, groups);
    }
    if (done) return groups;
    Py_XDECREF(groups);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"spans_in", spans_in, METH_VARARGS, "spans_in(body, most_records, most_keys, most_values): its spans by scope, or None."},
    {NULL, NULL, 0, NULL},
};

static void forget(void *module)
{
    State *state = PyModule_GetState((PyObject *)module);
    for (int i = 0; state != NULL && i < MOST_KNOWN; i++) Py_CLEAR(state->known[i].text);
}

static PyModuleDef_Slot slots[] = {{0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_spans", NULL, sizeof(State), functions, slots, NULL, NULL, forget,
};

PyMODINIT_FUNC PyInit__spans(void) { return PyModuleDef_Init(&definition); }
