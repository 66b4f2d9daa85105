import { expect, test } from 'vitest'
import { readConfig } from '../../../infra/config/config.ts'

test.each([
  ['KAFKA_BROKER', 'KAFKA_BROKERS'],
  ['ETHERUM_START', 'ETHEREUM_START'],
  ['ETHEREUM_RPC_HEADER', 'ETHEREUM_RPC_HEADERS'],
  ['CLICKHOSE_PASSWORD', 'CLICKHOUSE_PASSWORD'],
  ['DATADIR', 'DATA_DIR'],
  ['LOGLEVEL', 'LOG_LEVEL'],
])('%s is named at the start: %s is meant', (name, meant) => {
  expect(readConfig({ [name]: 'x' }).nearNames).toEqual([{ name, meant }])
  expect(readConfig({ [name]: '' }).nearNames).toEqual([])
})

test('a variable of another program is not taken for a misspelt one', () => {
  const names = [
    'HOME',
    'PATH',
    'HOSTNAME',
    'PWD',
    'SHELL',
    'LANG',
    'TERM',
    'USER',
    'LOGNAME',
    'NODE_ENV',
    'POSTGRES_HOST',
  ]
  const others = [
    'API_KEY',
    'API_URL',
    'https_proxy',
    'ALL_PROXY',
    'KAFKA_IMAGE',
    'npm_config_loglevel',
    'PGPORT',
    'SSH_PORT',
  ]
  expect(readConfig(Object.fromEntries([...names, ...others].map((name) => [name, 'http://a']))).nearNames).toEqual([])
})

test('an endpoint of an unknown network is refused, with the known ones', () => {
  expect(() => readConfig({ ETHERUM_RPC_URL: 'https://a.example/k3y', PORT: 'x' })).toThrowErrorMatchingInlineSnapshot(`
    [BadConfiguration: The environment has 2 bad values:
      ETHERUM_RPC_URL is of no network that is read: there are ETHEREUM_RPC_URL, ARBITRUM_RPC_URL, POLYGON_RPC_URL, BASE_RPC_URL, OPTIMISM_RPC_URL
      PORT is not a port: a number from 0 to 65535]
  `)
})
