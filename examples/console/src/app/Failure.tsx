import { Link } from '@tanstack/react-router';
import { Heading } from '../ui/Heading';

/** Stands for a screen that could not be loaded, such as after a new version of the console, or that has a bug. */
export function Failure() {
  return (
    <div className="stack" role="alert">
      <Heading>Something went wrong</Heading>
      <p>This screen could not be shown. There may be a new version of this page.</p>
      <div>
        <button type="button" className="primary" onClick={() => location.reload()}>
          Load the page again
        </button>
      </div>
    </div>
  );
}

export function NotFound() {
  return (
    <div className="stack">
      <Heading>Not found</Heading>
      <p>
        There is no such screen. <Link to="/">Go to the monitor</Link>
      </p>
    </div>
  );
}
