/** Copies the program into a folder beside it, and changes the shape of the market record that it keeps, and how it reads it. */
export function copyWithOtherModels(program: string, copy: string): void;
