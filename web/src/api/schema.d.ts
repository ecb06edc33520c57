/** Generated from the server's OpenAPI by `make types`; never edited by hand. */
export type paths = Record<string, never>;
export type components = { schemas: Record<string, never> };
