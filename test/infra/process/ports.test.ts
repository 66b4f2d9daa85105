import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../../infra/config/config.ts'
import { checkPlaces, takenPort } from '../../../infra/process/ports.ts'

test('a taken port and a folder that cannot be written are named together, by their variables', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ports-'))
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const port = String((server.address() as AddressInfo).port)
  await writeFile(join(folder, 'file'), '')
  const config = readConfig({ PORT: '0', ADMIN_PORT: port, DATA_DIR: join(folder, 'file', 'data') })
  const refused = await checkPlaces(config).catch(String)
  expect(refused).toContain(
    `ADMIN_PORT is ${port}, and port ${port} of 127.0.0.1 is taken: end the process that listens`,
  )
  expect(refused).toMatch(/DATA_DIR is .*file.data, which cannot be written \(ENOTDIR\)/)
  expect(takenPort(Object.assign(new Error(), { code: 'EADDRINUSE', port: Number(port) }), config)).toContain(
    'ADMIN_PORT',
  )
  expect(takenPort(new Error('another'), config)).toBeUndefined()

  server.close()
  await once(server, 'close')
  await checkPlaces(readConfig({ PORT: port, DATA_DIR: join(folder, 'data') }))
  const twice = readConfig({ PORT: port, SQL_PORT: port, DATA_DIR: folder })
  await expect(checkPlaces(twice)).rejects.toThrow(`SQL_PORT is ${port}, and port ${port} of 127.0.0.1 is taken`)
  await rm(folder, { recursive: true })
})
