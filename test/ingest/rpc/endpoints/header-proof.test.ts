/** Headers of an endpoint are used where their hash is that of their fields. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { connectChain } from '../../../../infra/rpc/chain-client.ts'
import { getHead } from '../../../../ingest/rpc/rpc.ts'
import { realHeaders } from '../../../support/proof-blocks.ts'

const [{ header } = expect.fail('There are real headers.')] = realHeaders()
const closing: (() => void)[] = []

afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** A node that has one block. */
async function nodeOf(block: object): Promise<string> {
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { id: number; method: string }
    const result = body.method === 'eth_chainId' ? '0x1' : block
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result }))
  })
  closing.push(() => server.close().closeAllConnections())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function headOf(block: object, headerProof?: 'off') {
  const { endpoints } = connectChain([await nodeOf(block)], {
    ...(headerProof && { headerProof }),
    signal: AbortSignal.timeout(600_000),
  })
  return endpoints.run(getHead)
}

test('a real header is used', async () => {
  expect(await headOf({ ...header, transactions: [] })).toMatchObject({ hash: header['hash'] })
})

test('a header with another parent is refused, and used where proof is off', async () => {
  const forged = { ...header, transactions: [], parentHash: header['hash'] }
  await expect(headOf(forged)).rejects.toThrow(/hash/)
  expect(await headOf(forged, 'off')).toMatchObject({ hash: header['hash'] })
})
