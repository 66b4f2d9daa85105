/** Links to block explorers; the page itself requests nothing from them. */

const EXPLORERS: Readonly<Record<string, string>> = {
  ethereum: 'https://etherscan.io',
  arbitrum: 'https://arbiscan.io',
  polygon: 'https://polygonscan.com',
  base: 'https://basescan.org',
  optimism: 'https://optimistic.etherscan.io',
}

/** A tick's id is the transaction's hash and the log's index. */
export function transactionLink(network: string, tickId: string): string | undefined {
  const explorer = EXPLORERS[network]
  const [transaction] = tickId.split('-')
  return explorer === undefined ? undefined : `${explorer}/tx/${transaction}`
}

/** Undefined for a v4 pool, which has an id and no address. */
export function poolLink(network: string, pool: string): string | undefined {
  const explorer = EXPLORERS[network]
  return explorer === undefined || pool.length !== 42 ? undefined : `${explorer}/address/${pool}`
}
