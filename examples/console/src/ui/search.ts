/** A list of texts in an address, by its name there. Nothing if there is none. */
export function namesIn(search: Record<string, unknown>, name: string): Record<string, string[]> {
  const value = search[name];
  return Array.isArray(value) ? { [name]: value.map(String) } : {};
}
