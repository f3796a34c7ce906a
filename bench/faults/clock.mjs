// Loaded into a gateway before its own program: each SIGUSR2 steps its clock to the next of these offsets, in milliseconds.
const steps = [3_600_000, 0, -3_600_000, 0];
let offset = 0;
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + offset);
    else super(...given);
  }

  static now() {
    return RealDate.now() + offset;
  }
};
process.on('SIGUSR2', () => {
  offset = steps.shift() ?? 0;
});
