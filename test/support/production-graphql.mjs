// Loads graphql as production does. Otherwise its check for a second copy of itself takes a tenth of the time of all tests.
const { NODE_ENV } = process.env;
process.env.NODE_ENV = 'production';
await import('graphql');
process.env.NODE_ENV = NODE_ENV;
