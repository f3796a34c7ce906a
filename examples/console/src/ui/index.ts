/** What every screen is made of. `Modal` and `Confirm` are not here: they are loaded when one is opened first. */
export * from './FacetMenu';
export * from './Form';
export * from './format';
export * from './hooks';
export * from './loadPart';
export * from './Problems';
export * from './parts';
export * from './SearchBox';
export * from './search';
