/** Where the history of the endpoints ends: below a cut they have no logs, and one refusal does not prove it. */
import { V3_TOPICS } from '../decode/decode-v3.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import { readLogs } from '../rpc/logs/log-range.ts'
import { requireLogs } from '../rpc/logs/silent-blocks.ts'
import type { Header, LogFilter } from '../rpc/rpc.ts'
import { isPruned } from '../rpc/rpc-error.ts'

/** Most blocks have some: then the answer itself shows that the node has logs. */
const FREQUENT: LogFilter = { topics: [[V3_TOPICS.swap]] }
/** Among so many blocks above it, one is likely to have logs. */
const LOOKS = 3
/** How often no endpoint may have a block before its absence counts: nodes behind one address differ. */
const CONFIRMATIONS = 4

/** The header of a block that can be read with its logs; undefined where no endpoint has both any more. */
export async function readable(endpoints: Endpoints, number: number): Promise<Header | undefined> {
  const read = endpoints.run(
    async (client) => {
      const { logs, last } = await readLogs(client, FREQUENT, number, number)
      if (logs.length === 0) await requireLogs(client, last, last.number + LOOKS)
      return last
    },
    { oldest: number, atLeast: number },
  )
  return read.catch((error: unknown) => {
    if (!isPruned(error)) throw error
    return undefined
  })
}

export async function isReadAfterAll(endpoints: Endpoints, number: number): Promise<boolean> {
  for (let left = CONFIRMATIONS; left > 0; left--) if (await readable(endpoints, number)) return true
  return false
}
