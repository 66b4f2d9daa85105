/** Hosts of RPC endpoints: full addresses contain keys. */

/** `text` with every URL cut down to its host. */
export function hostsOnly(text: string): string {
  return text.replace(/\b(?:https?|wss?):\/\/[^\s"'<>)]+/g, hostOf)
}

export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'an address'
}
