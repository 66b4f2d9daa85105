/** Recorded errors of providers and nodes, and their classification. */
import { createClient, custom, HttpRequestError, ResponseBodyTooLargeError, RpcRequestError, TimeoutError } from 'viem'
import { describe, expect, test } from 'vitest'
import type { RpcProblem } from '../../../ingest/model/rpc-problem.ts'
import { getHeader } from '../../../ingest/rpc/rpc.ts'
import { BadAnswer, classify, isRpcError, RpcFailed } from '../../../ingest/rpc/rpc-error.ts'

const URL = 'https://rpc.example/v2/a-secret-key'
const body = { method: 'eth_getLogs', params: [{ fromBlock: '0x0', toBlock: '0x10' }] }

type RpcErrorBody = { code: number; message: string; data?: unknown }

/** As viem gives it, in its own wrapping. */
async function answered(error: RpcErrorBody): Promise<unknown> {
  const request = async () => {
    throw new RpcRequestError({ body, error, url: URL })
  }
  const client = createClient({ transport: custom({ request }, { retryCount: 0 }) })
  return getHeader(client, 1).catch((thrown: unknown) => thrown)
}

function http(status: number, details: string, headers: Record<string, string> = {}): HttpRequestError {
  return new HttpRequestError({ url: URL, body, status, details, headers: new Headers(headers) })
}

const RPC_ERRORS: readonly (readonly [who: string, error: RpcErrorBody, problem: RpcProblem])[] = [
  // Too many results: ask for fewer blocks.
  [
    'Alchemy',
    {
      code: -32602,
      message:
        'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0xc5dc00, 0xc614a7]',
    },
    { kind: 'too-many-results', suggested: { from: 0xc5dc00, to: 0xc614a7 } },
  ],
  [
    'Alchemy, slow',
    {
      code: -32000,
      message:
        'Query timeout exceeded. Consider reducing your block range. Based on your parameters and the response size limit, this block range should work: [0x5223c98, 0x5223e80]',
    },
    { kind: 'too-many-results', suggested: { from: 0x5223c98, to: 0x5223e80 } },
  ],
  [
    'Infura',
    { code: -32005, message: 'query returned more than 10000 results. Try with this block range [0xCB3D, 0x7B737].' },
    { kind: 'too-many-results', suggested: { from: 0xcb3d, to: 0x7b737 } },
  ],
  [
    'Infura, in the data',
    {
      code: -32005,
      message: 'query returned more than 10000 results',
      data: { from: '0x10', limit: 10_000, to: '0x20' },
    },
    { kind: 'too-many-results', suggested: { from: 16, to: 32 } },
  ],
  [
    'reth',
    { code: -32602, message: 'query exceeds max results 20000, retry with the range 22382105-22382515' },
    { kind: 'too-many-results', suggested: { from: 22_382_105, to: 22_382_515 } },
  ],
  [
    'Nethermind',
    { code: -32005, message: 'Too many logs requested. Max logs per response is 20000.' },
    { kind: 'too-many-results' },
  ],
  [
    'Erigon, results',
    { code: -32602, message: 'query returns too many logs, narrow your filter: 20000' },
    { kind: 'too-many-results' },
  ],
  [
    'Chainstack and op-geth, results',
    { code: -32000, message: 'logs matched by query exceeds limit of 10000' },
    { kind: 'too-many-results' },
  ],
  [
    'Alchemy, formerly',
    { code: -32602, message: 'Log response size exceeded. Please reduce query block range.' },
    { kind: 'too-many-results' },
  ],
  ['Infura, slow', { code: -32005, message: 'query timeout exceeded' }, { kind: 'too-many-results' }],
  [
    'Ankr',
    { code: -32008, message: 'Response is too big', data: 'Exceeded max limit of 157286400' },
    { kind: 'too-many-results' },
  ],
  ["Base's gateway", { code: -32020, message: 'backend response too large' }, { kind: 'too-many-results' }],
  ['geth, slow', { code: -32002, message: 'request timed out' }, { kind: 'timeout' }],
  ['Ankr and others, slow', { code: -32000, message: 'query timeout exceeded' }, { kind: 'too-many-results' }],
  // A cap on the width of ranges.
  [
    'Alchemy, free',
    {
      code: -32600,
      message:
        'Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0x1180fca, 0x1180fd3]. Upgrade to PAYG for expanded block range.',
    },
    { kind: 'range-capped', maxBlocks: 10 },
  ],
  [
    'Alchemy, 500',
    {
      code: -32600,
      message:
        'You can make eth_getLogs requests with up to a 500 block range. Based on your parameters, this block range should work: [0x3d7773, 0x3d7966]',
    },
    { kind: 'range-capped', maxBlocks: 500 },
  ],
  [
    'Infura',
    { code: -32602, message: 'range 1000000 exceeds limit of 10000' },
    { kind: 'range-capped', maxBlocks: 10_000 },
  ],
  [
    'QuickNode',
    { code: -32614, message: 'eth_getLogs is limited to a 10,000 range' },
    { kind: 'range-capped', maxBlocks: 10_000 },
  ],
  [
    'QuickNode, formerly',
    { code: -32602, message: 'eth_getLogs and eth_newFilter are limited to a 10,000 blocks range' },
    { kind: 'range-capped', maxBlocks: 10_000 },
  ],
  ['Ankr', { code: -32600, message: 'block range is too wide' }, { kind: 'range-capped' }],
  [
    'Ankr, now',
    { code: -32000, message: 'maximum [from, to] blocks distance: 10000' },
    { kind: 'range-capped', maxBlocks: 10_000 },
  ],
  [
    'Chainstack',
    {
      code: -32602,
      message:
        'Block range limit exceeded. See more details at https://docs.chainstack.com/docs/limits#evm-range-limits.',
    },
    { kind: 'range-capped' },
  ],
  [
    "Base's public node",
    { code: -32614, message: 'eth_getLogs is limited to a 2,000 range' },
    { kind: 'range-capped', maxBlocks: 2_000 },
  ],
  [
    "Base's gateway",
    { code: -32602, message: 'block range greater than 2000 max' },
    { kind: 'range-capped', maxBlocks: 2_000 },
  ],
  [
    'Base at Coinbase',
    { code: -32602, message: 'please limit the query to at most 1000 blocks' },
    { kind: 'range-capped', maxBlocks: 1_000 },
  ],
  ['Ankr, of some chains', { code: -32062, message: 'Block range is too large' }, { kind: 'range-capped' }],
  [
    'PublicNode',
    { code: -32701, message: 'exceed maximum block range: 50000' },
    { kind: 'range-capped', maxBlocks: 50_000 },
  ],
  [
    'reth',
    { code: -32602, message: 'query exceeds max block range 100000' },
    { kind: 'range-capped', maxBlocks: 100_000 },
  ],
  [
    'Erigon',
    { code: -32602, message: 'query block range exceeds server limit, narrow your filter: 1000' },
    { kind: 'range-capped', maxBlocks: 1_000 },
  ],
  [
    'BlockPI',
    {
      code: -32602,
      message:
        'eth_getLogs is limited to 1024 block range. Please check the parameter requirements at https://docs.blockpi.io/documentations/api-reference',
    },
    { kind: 'range-capped', maxBlocks: 1_024 },
  ],
  [
    'dRPC',
    { code: 35, message: 'ranges over 10000 blocks are not supported on freetier' },
    { kind: 'range-capped', maxBlocks: 10_000 },
  ],
  [
    'Cloudflare',
    { code: -32047, message: "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800" },
    { kind: 'range-capped', maxBlocks: 800 },
  ],
  [
    '1RPC',
    { code: -32602, message: 'eth_getLogs is limited to 0 - 50 blocks range' },
    { kind: 'range-capped', maxBlocks: 50 },
  ],
  // Too fast.
  [
    'Alchemy',
    {
      code: 429,
      message:
        'Your app has exceeded its compute units per second capacity. If you have retries enabled, you can safely ignore this message.',
    },
    { kind: 'rate-limited' },
  ],
  ['Infura', { code: -32005, message: 'project ID request rate exceeded' }, { kind: 'rate-limited' }],
  [
    'Infura, with a time',
    {
      code: -32005,
      message: 'project ID request rate exceeded',
      data: { rate: { allowed_rps: 1, backoff_seconds: 30, current_rps: 1.1 } },
    },
    { kind: 'rate-limited', retryAfterMs: 30_000 },
  ],
  [
    'Infura, daily',
    { code: -32005, message: 'daily request count exceeded, request rate limited' },
    { kind: 'rate-limited' },
  ],
  [
    'QuickNode',
    {
      code: -32007,
      message: '50/second request limit reached - reduce calls per second or upgrade your account at quicknode.com',
    },
    { kind: 'rate-limited' },
  ],
  [
    'Ankr',
    { code: -32090, message: 'Too many requests, reason: call rate limit exhausted, retry in 10s' },
    { kind: 'rate-limited', retryAfterMs: 10_000 },
  ],
  [
    'Ankr, long',
    { code: -32090, message: 'Too many requests, reason: call rate limit exhausted, retry in 10m0s' },
    { kind: 'rate-limited', retryAfterMs: 600_000 },
  ],
  [
    'Chainstack',
    { code: -32005, message: "You've exceeded the RPS limit available on the current plan." },
    { kind: 'rate-limited' },
  ],
  ["Base's public node", { code: -32016, message: 'over rate limit' }, { kind: 'rate-limited' }],
  ["Base's gateway", { code: -32012, message: 'backend is over capacity' }, { kind: 'rate-limited' }],
  [
    'Nethermind, busy',
    { code: -32000, message: 'Unable to rent an instance of IEthRpcModule. Too many concurrent requests.' },
    { kind: 'rate-limited' },
  ],
  [
    'QuickNode, by plan',
    { code: 429, message: 'The requests per second (RPS) of your requests are higher than your plan allows.' },
    { kind: 'rate-limited' },
  ],
  ['Tenderly and Merkle', { code: -32005, message: 'rate limit exceeded' }, { kind: 'rate-limited' }],
  ['dRPC', { code: 15, message: 'Too many request, try again later' }, { kind: 'rate-limited' }],
  // Not there yet.
  ['geth', { code: -32000, message: 'header not found' }, { kind: 'behind' }],
  ['geth, state by hash', { code: -32000, message: 'header for hash not found' }, { kind: 'behind' }],
  ['geth, branch', { code: -32000, message: 'hash is not currently canonical' }, { kind: 'behind' }],
  ['geth, logs by hash', { code: -32000, message: 'unknown block' }, { kind: 'behind' }],
  ['geth and reth', { code: -32602, message: 'block range extends beyond current head block' }, { kind: 'behind' }],
  [
    'reth, with numbers',
    { code: -32000, message: 'block range extends beyond current head block: requested 0x2000, head 0x1000' },
    { kind: 'behind' },
  ],
  [
    'Erigon',
    {
      code: -32000,
      message: 'requested block range [4096, 8192] is beyond latest executed block 4000 (node is still syncing)',
    },
    { kind: 'behind' },
  ],
  ['Base, flashblocks', { code: -32014, message: 'block not yet imported' }, { kind: 'behind' }],
  ['Nethermind', { code: -32001, message: 'Block 0x10 was not found' }, { kind: 'behind' }],
  ['Nethermind, formerly', { code: -32001, message: '8633830 could not be found' }, { kind: 'behind' }],
  // NomicFoundation/hardhat: hardhat-network/provider/modules/eth.ts, and edr_provider.
  [
    'hardhat',
    { code: -32000, message: 'Received invalid block tag 87. Latest block number is 38' },
    { kind: 'behind' },
  ],
  ['hardhat, logs by hash', { code: -32602, message: 'blockHash cannot be found' }, { kind: 'behind' }],
  ["Base's gateway", { code: -32019, message: 'block is out of range' }, { kind: 'behind' }],
  // It cannot, another may.
  [
    'geth, no such method',
    { code: -32601, message: 'the method eth_foo does not exist/is not available' },
    { kind: 'unsupported' },
  ],
  [
    'geth, pruned',
    { code: -32000, message: 'missing trie node 5a3f (path ) state is not available' },
    { kind: 'pruned' },
  ],
  ['geth and reth, without old blocks', { code: 4444, message: 'pruned history unavailable' }, { kind: 'pruned' }],
  [
    'Chainstack, old blocks',
    { code: -32000, message: 'Archive, Debug and Trace requests are not available on your current plan.' },
    { kind: 'pruned' },
  ],
  [
    'op-geth, before Bedrock',
    { code: -32000, message: 'no historical RPC is available for this historical (pre-bedrock) request' },
    { kind: 'pruned' },
  ],
  [
    'PublicNode, old blocks',
    { code: -32602, message: 'Archive requests require a personal token' },
    { kind: 'pruned' },
  ],
  // History expiry: reth and Nethermind take over EIP-4444's code (paradigmxyz/reth#21304, NethermindEth/nethermind), some with numbers.
  [
    'any node, with numbers',
    { code: -32000, message: 'pruned history unavailable: requested 11849286, earliest available 15500000' },
    { kind: 'pruned' },
  ],
  ['any node, its code alone', { code: 4444, message: 'gone' }, { kind: 'pruned' }],
  // erigontech/erigon: db/state/history_reader_v3.go, and issue 13198.
  [
    'Erigon, state',
    { code: -32000, message: 'old data not available due to pruning: requested block 6134861' },
    { kind: 'pruned' },
  ],
  [
    'Erigon, logs',
    {
      code: -32000,
      message:
        'state transitaion failed: seek with txNum=1962853355 but data before txNum=2662500000 is not available: blockNum=16999999',
    },
    { kind: 'pruned' },
  ],
  // ethereum/go-ethereum: issues 16471 and 20874; path scheme; tracing.
  [
    'geth, state',
    { code: -32000, message: 'missing trie node ef7df5d88cb1614dc3f143879a653cd90717ee42 (path )' },
    { kind: 'pruned' },
  ],
  ['geth, state by path', { code: -32000, message: 'historical state 5a3f9c is not available' }, { kind: 'pruned' }],
  [
    'geth, state to trace',
    { code: -32000, message: 'required historical state unavailable (reexec=128)' },
    { kind: 'pruned' },
  ],
  // As drpcorg/dshackle lists them for its lower bounds.
  ['Nethermind, state', { code: -32002, message: 'No state available for block 0x5a3f' }, { kind: 'pruned' }],
  ['Cosmos chains', { code: -32000, message: 'height 5 is not available, lowest height is 9' }, { kind: 'pruned' }],
  ['Besu, state', { code: -32000, message: 'World state unavailable' }, { kind: 'pruned' }],
  [
    'Nethermind, receipts',
    {
      code: -32602,
      message: 'Receipts for block 12 (0x5a3f) are neither stored nor reproducible from state history.',
    },
    { kind: 'pruned' },
  ],
  [
    'dRPC, old blocks',
    {
      code: 1,
      message:
        'no available upstreams to process a request. Cause - Upstream lower height 42810022 of type RECEIPTS is greater than 1',
    },
    { kind: 'pruned' },
  ],
  // Fewer addresses or topics: go-ethereum#31876, #32327 and --rpc.logquerylimit; erpc's list for Infura and others.
  ['geth 1.16', { code: -32602, message: 'exceed max addresses' }, { kind: 'too-many-values' }],
  ['geth, topics', { code: -32602, message: 'invalid argument 0: exceed max topics' }, { kind: 'too-many-values' }],
  [
    'geth 1.17 and Erigon',
    { code: -32602, message: 'exceed max addresses or topics per search position' },
    { kind: 'too-many-values' },
  ],
  ['Conflux', { code: -32602, message: 'exceed max addresses: 1000' }, { kind: 'too-many-values', maxValues: 1_000 }],
  [
    'Infura',
    { code: -32602, message: 'This query contains 5006 filters. The current limit is 5000.' },
    { kind: 'too-many-values', maxValues: 5_000 },
  ],
  [
    'a gateway',
    { code: -32000, message: 'please specify less number of address in the getLogs query' },
    { kind: 'too-many-values' },
  ],
  // A resource that is missing is EIP-1474's meaning; gateways use the code for anything.
  ['a gateway, heavy', { code: -32001, message: 'Unable to complete request at this time' }, { kind: 'unreachable' }],
  ['a gateway, slow', { code: -32001, message: 'request timed out' }, { kind: 'timeout' }],
  ['a node without text', { code: -32001, message: 'Resource does not exist' }, { kind: 'behind' }],
  [
    'PublicNode, all addresses',
    {
      code: -32701,
      message:
        'Please specify an address in your request or, to remove restrictions, order a dedicated full node here: https://www.allnodes.com/eth/host',
    },
    { kind: 'unsupported' },
  ],
  [
    'dRPC, slow',
    { code: 30, message: 'Request timeout on the free tier, please upgrade your tier to the paid one' },
    { kind: 'timeout' },
  ],
  // Not retryable, or unknown.
  ['geth, bad range', { code: -32602, message: 'invalid block range params' }, { kind: 'refused' }],
  ['Alchemy, no key', { code: -32600, message: 'Must be authenticated!' }, { kind: 'refused' }],
  ['geth, a contract', { code: 3, message: 'execution reverted' }, { kind: 'reverted' }],
  [
    "Base's gateway",
    { code: -32011, message: 'no backend is currently healthy to serve traffic' },
    { kind: 'unreachable' },
  ],
  ['any provider', { code: -32603, message: 'Internal error' }, { kind: 'unreachable' }],
]

describe('an error of JSON-RPC', () => {
  test.each(RPC_ERRORS)('%s: %o', async (_, error, problem) => {
    expect(classify(await answered(error))).toEqual(problem)
  })
})

describe('an answer of HTTP', () => {
  test.each([
    ['Cloudflare’s 1015', http(429, 'error code: 1015'), { kind: 'rate-limited' }],
    ['a 429 with seconds', http(429, '', { 'retry-after': '7' }), { kind: 'rate-limited', retryAfterMs: 7_000 }],
    ['an overloaded gateway', http(503, '', { 'retry-after': '2' }), { kind: 'rate-limited', retryAfterMs: 2_000 }],
    [
      'QuickNode’s cap, which is a 413',
      http(
        413,
        '{"jsonrpc":"2.0","id":56,"error":{"code":-32614,"message":"eth_getLogs is limited to a 10,000 range"}}',
      ),
      { kind: 'range-capped', maxBlocks: 10_000 },
    ],
    ['a body too large', http(413, 'Request Entity Too Large'), { kind: 'too-many-results' }],
    ['no key', http(401, 'Unauthorized'), { kind: 'refused' }],
    ['no leave', http(403, 'Forbidden'), { kind: 'refused' }],
    ['a bad gateway', http(502, '<html>502 Bad Gateway</html>'), { kind: 'unreachable' }],
    ['a gateway that waited', http(504, 'Gateway Timeout'), { kind: 'timeout' }],
    ['one error for a batch', http(200, '{"error":{"code":-32600,"message":"Unauthorized"}}'), { kind: 'refused' }],
  ] as const)('%s', (_, error, problem) => {
    expect(classify(error)).toEqual(problem)
  })

  test('Retry-After may be a date', () => {
    const date = new Date(Date.now() + 60_000).toUTCString()
    const problem = classify(http(429, '', { 'retry-after': date }))
    expect(problem.kind === 'rate-limited' && problem.retryAfterMs).toBeGreaterThan(50_000)
  })
})

describe('a missing answer', () => {
  test.each([
    [
      'a reset connection',
      new TypeError('fetch failed', { cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }) }),
      'unreachable',
    ],
    [
      'an unknown host name',
      new TypeError('fetch failed', { cause: new Error('getaddrinfo ENOTFOUND rpc.example') }),
      'unreachable',
    ],
    ['no JSON', new SyntaxError('Unexpected token < in JSON at position 0'), 'malformed'],
  ] as const)('%s', (_, cause, kind) => {
    expect(classify(new HttpRequestError({ url: URL, body, cause }))).toEqual({ kind })
  })

  test('an answer that did not come in time is a timeout', () => {
    expect(classify(new TimeoutError({ body, url: URL }))).toEqual({ kind: 'timeout' })
  })

  test('an answer that is too long has too many results', () => {
    expect(classify(new ResponseBodyTooLargeError({ maxSize: 1, size: 2 }))).toEqual({ kind: 'too-many-results' })
  })
})

test('an answer that was looked at and not believed says so itself, whatever it is wrapped in', () => {
  const bad = new BadAnswer('contradictory', 'two hashes')
  expect(classify(bad)).toEqual({ kind: 'contradictory' })
  expect(classify(new HttpRequestError({ url: URL, cause: bad }))).toEqual({ kind: 'contradictory' })
})

test('a bug is no RPC error', () => {
  expect(isRpcError(new TypeError('undefined is not a function'))).toBe(false)
})

test('a failure names the host, what was meant and what was said, and no key', () => {
  const failure = new RpcFailed('rpc.example', { kind: 'unreachable' }, http(502, `no upstream for ${URL}`))
  expect(failure).toMatchInlineSnapshot(
    `[RpcFailed: rpc.example did not answer as it was asked (unreachable): HTTP 502, no upstream for rpc.example]`,
  )
  expect(failure.stack).not.toContain('a-secret-key')
})
