/** The token of the address that was opened. It is kept for this tab under a name, and taken out of the address. */
export function token(name: string): string | null {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(name, given);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return sessionStorage.getItem(name);
}
