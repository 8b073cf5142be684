import { arrow, box, picture, text } from './svg.ts'

export function pipelinePicture(): string {
  const half = 222
  return picture(396, 'A pipeline, and its workers', [
    box(14, 40, 452, 46, { title: 'Source', lines: ['file, table, Redis stream, Kafka, Kinesis, any iterable'] }),
    arrow(125, 86, 125, 122),
    arrow(355, 86, 355, 122),
    text(135, 108, 'partition 1, in order', { as: 'soft small' }),
    text(365, 108, 'partition 2', { as: 'soft small' }),
    box(14, 122, half, 62, { title: 'Worker A', lines: ['claims partition 1; batches', 'through the steps'] }),
    box(244, 122, half, 62, { title: 'Worker B', lines: ['takes a claim over when', 'its worker is gone'] }),
    arrow(125, 184, 125, 212),
    arrow(355, 184, 355, 212),
    box(14, 212, 452, 46, { title: 'Rate', lines: ['one rule of the limiter, for all workers together'] }),
    arrow(125, 258, 125, 300),
    arrow(355, 258, 355, 300),
    text(135, 283, 'written', { as: 'soft small' }),
    text(365, 283, 'rejected', { as: 'soft small' }),
    box(14, 300, half, 62, { title: 'Sink', lines: ['a batch and its position,', 'in one transaction if it can'] }),
    box(244, 300, half, 62, { title: 'Dead letters', lines: ['records that cannot be', 'written, with the reason'] }),
    text(14, 384, 'After a crash, reading goes on at the last saved position.', { as: 'small' }),
  ])
}
