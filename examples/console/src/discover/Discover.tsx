export function Discover() {
  return <h1>Discover</h1>;
}
