import { useReactiveVar } from '@apollo/client/react';
import { Link } from '@tanstack/react-router';
import { Button, Heading, isAway, Skeleton } from '../ui';

/** Stands for a screen until it is loaded. */
export function Pending() {
  const away = useReactiveVar(isAway);
  if (!away) return <Skeleton lines={12} />;
  return (
    <div className="problems" role="status">
      <p>There is no connection to this page’s server. The screen opens as soon as there is one.</p>
    </div>
  );
}

/** Stands for a screen that could not be loaded, such as after a new version of the console, or that has a bug. */
export function Failure() {
  return (
    <div className="stack" role="alert">
      <Heading>Something went wrong</Heading>
      <p>This screen could not be shown. There may be a new version of this page.</p>
      <div>
        <Button label="Load the page again" className="primary" onClick={() => location.reload()} />
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
