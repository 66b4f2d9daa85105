/** A web page in a browser of this machine must not read the devnet's node or drive it. */
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Anvil, startAnvil } from '../../../../infra/devnet/chain/anvil.ts'

const ORIGIN = { origin: 'http://page.example' }
const CALL = { jsonrpc: '2.0', id: 1, method: 'evm_mine', params: [] }

let anvil: Anvil

beforeAll(async () => {
  anvil = await startAnvil()
})
afterAll(async () => {
  await anvil?.stop()
})

test('no answer carries a header that lets a page of another origin read it', async () => {
  for (const method of ['POST', 'GET', 'OPTIONS', 'HEAD']) {
    const body = method === 'POST' ? { body: JSON.stringify(CALL) } : {}
    const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' }
    const headers = { ...ORIGIN, ...asked, 'content-type': 'application/json' }
    const answer = await fetch(anvil.httpUrl, { method, headers, ...body })
    const names = [...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))
    expect(names, method).toEqual([])
  }
})

test('a request that a page can send without asking first does nothing', async () => {
  const before = await height()
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', '']) {
    const headers = { ...ORIGIN, 'content-type': type }
    const answer = await fetch(anvil.httpUrl, { method: 'POST', headers, body: JSON.stringify(CALL) })
    expect(await answer.text(), type).toMatch(/Invalid request/)
  }
  expect(await height()).toBe(before)
})

// The node takes a WebSocket of any origin. macOS has no other address of its own.
test.runIf(process.platform === 'linux')('the node listens on no address that a page can guess', async () => {
  const { hostname, port } = new URL(anvil.httpUrl)
  expect(hostname).toMatch(/^127\.\d+\.\d+\.\d+$/)
  for (const known of ['127.0.0.1', '127.0.1.1', '::1', 'localhost', '0.0.0.0'])
    expect(await canConnect(known, Number(port)), known).toBe(false)
  expect(await canConnect(hostname, Number(port))).toBe(true)
})

async function height(): Promise<unknown> {
  return (await anvil.rpc([{ method: 'eth_blockNumber', params: [] }]))[0]
}

function canConnect(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
