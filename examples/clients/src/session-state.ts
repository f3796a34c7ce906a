/** Stands for the state of your page: while the session is over, it shows the sign-in form. */
export const session = { isOver: false };
