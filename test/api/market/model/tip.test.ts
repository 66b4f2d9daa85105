/** The tips of a store that is away: a 503, whichever statement finds it out. */
import { expect, test } from 'vitest'
import { readTips, type Tip } from '../../../../api/market/model/tip.ts'
import { connect } from '../../../../infra/clickhouse/client/client.ts'
import type { NetworkName } from '../../../../ingest/model/network.ts'

const KNOWN = { number: 1, hash: '0x1', timestamp: 1, finalized: 0 }

test.each([
  ['no tip is known', new Map<NetworkName, { tip: Tip }>()],
  ['a tip is known', new Map<NetworkName, { tip: Tip }>([['ethereum', { tip: KNOWN }]])],
] as const)('where %s, a store that is away is a problem of the store', async (_, known) => {
  const client = connect({ url: 'http://127.0.0.1:1', username: 'default', password: '', database: 'default' })
  await expect(readTips(client, ['ethereum'], known)).rejects.toMatchObject({ code: 'store_unavailable' })
  await client.close()
})
