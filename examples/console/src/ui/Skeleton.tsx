/** Gray lines where content will be. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }).map((_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines never change
        <div key={line} />
      ))}
    </div>
  );
}
