/** The screens by their names. */
export const SCREENS = [
  ['Monitor', '/'],
  ['Discover', '/discover'],
  ['Markets', '/markets'],
  ['Exports', '/exports'],
] as const;
