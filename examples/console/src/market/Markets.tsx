export function Markets() {
  return <h1>Markets</h1>;
}
