/** What every screen is made of. */
export * from './ConfirmButton';
export * from './FacetMenu';
export * from './Form';
export * from './format';
export * from './hooks';
export * from './loadPart';
export * from './Modal';
export * from './Popover';
export * from './Problems';
export * from './parts';
export * from './SearchBox';
export * from './search';
