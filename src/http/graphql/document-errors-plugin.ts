import type { ApolloServerPlugin } from '@apollo/server';

const leaveStackOut = async (errors: readonly Error[] = []) => {
  for (const error of errors) error.stack = '';
};

/**
 * Takes the stacks from the errors of a document before Apollo wraps them, which would have them written out: each at the cost of a small query,
 * for nobody to see.
 */
export const documentErrorsPlugin: ApolloServerPlugin = {
  async requestDidStart() {
    return {
      parsingDidStart: async () => async error => leaveStackOut(error && [error]),
      validationDidStart: async () => leaveStackOut,
    };
  },
};
