/** When the session is over, the page shows its sign-in form. */
export const session = { isOver: false };
