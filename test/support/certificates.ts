/** Certificates of a test, made by OpenSSL: an authority, and what it signs. */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export type Authority = {
  caFile: string
  /** Paths of a certificate for 127.0.0.1 and its key, and both in one file. `days` −1: it has expired. */
  sign(name: string, days?: number): Promise<{ certFile: string; keyFile: string; bothFile: string }>
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

export async function makeAuthority(folder: string, name: string): Promise<Authority> {
  const at = (file: string) => join(folder, `${name}-${file}`)
  const [caFile, caKey] = [at('ca.pem'), at('ca.key')]
  await run('openssl', [
    'req',
    '-x509',
    ...KEY,
    '-keyout',
    caKey,
    '-out',
    caFile,
    '-subj',
    `/CN=${name}`,
    '-days',
    '30',
  ])
  return {
    caFile,
    async sign(subject, days = 30) {
      const [request, keyFile, certFile, bothFile, names] = ['csr', 'key', 'pem', 'both.pem', 'names'].map((kind) =>
        at(`${subject}.${kind}`),
      ) as [string, string, string, string, string]
      await run('openssl', ['req', ...KEY, '-keyout', keyFile, '-out', request, '-subj', `/CN=${subject}`])
      await writeFile(names, 'subjectAltName=IP:127.0.0.1,DNS:localhost')
      const signing = ['-CA', caFile, '-CAkey', caKey, '-CAcreateserial', '-days', String(days), '-extfile', names]
      await run('openssl', ['x509', '-req', '-in', request, '-out', certFile, ...signing])
      await writeFile(bothFile, (await readFile(keyFile, 'utf8')) + (await readFile(certFile, 'utf8')))
      return { certFile, keyFile, bothFile }
    },
  }
}
