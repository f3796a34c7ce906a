import 'react';

declare module 'react' {
  /** Custom properties in `style`. */
  interface CSSProperties {
    [property: `--${string}`]: string | number;
  }
}
