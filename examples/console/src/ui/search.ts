/** Reads a value of an address. Undefined: it cannot be read, and is left out. */
type Reader<T> = (value: unknown) => T | undefined;

export const text: Reader<string> = value => (typeof value === 'string' && value !== '' ? value : undefined);
export const texts: Reader<string[]> = value => (Array.isArray(value) ? value.map(String) : undefined);
export const number: Reader<number> = value => (Number.isFinite(value) ? Number(value) : undefined);
export const time: Reader<string> = value => (Number.isNaN(Date.parse(String(value))) ? undefined : text(value));
export const oneOf =
  <T>(...values: T[]): Reader<T> =>
  value =>
    values.find(known => known === value);

/** Reads an address: what it has under each of these names. */
export const reader =
  <T>(readers: { readonly [Name in keyof T]: Reader<T[Name]> }) =>
  (search: Record<string, unknown>) =>
    Object.fromEntries(Object.entries<Reader<unknown>>(readers).map(([name, read]) => [name, read(search[name])])) as {
      readonly [Name in keyof T]?: T[Name];
    };
