#!/usr/bin/env python3
"""A reader of the .waste container, format version 0, written from the text of the format alone.

It shares nothing with the engine: where the two agree bit for bit, both understood the same text. It is plain
and slow, needs nothing but Python, and refuses what it does not understand.

    waste_container.py CONTAINER      the SHA-256 of every decoded tensor, as one JSON object

Section numbers refer to the specification of the container.
"""

import array
import hashlib
import json
import operator
import struct
import sys
import zlib
from pathlib import Path

RECORD_HEADER = struct.Struct("<IHHBBHHHIIIIIIII")
CODEBOOK_HEADER = struct.Struct("<IHBBII")
F32, Q8G, Q4G, Q3G = 0, 2, 3, 7
MATRICES = ("gate", "up", "down")


class Refused(Exception):
    """The container breaks a rule of the format."""


def require(condition, what):
    if not condition:
        raise Refused(what)


def ceil_div(value, divisor):
    return -(-value // divisor)


def halves(data):
    """f16 to f32, little-endian; f32 holds every f16 exactly."""
    return array.array("f", struct.unpack("<%de" % (len(data) // 2), data))


class Container:
    def __init__(self, directory):
        self.directory = Path(directory)
        self.manifest = json.loads((self.directory / "manifest.json").read_text("utf-8"))
        require(self.manifest["format_version"] == 0, "format_version")
        self.trunk_bytes = (self.directory / "trunk.bin").read_bytes()
        quant = self.manifest.get("expert_quant", {})
        self.stages = quant.get("stages", 3)
        self.vec_dim = quant.get("vec_dim", 8)
        self.entries = quant.get("entries", 256)
        self.index_bits = quant.get("index_bits", 8)
        self.index_block = quant.get("index_block")
        require(self.index_block in (0, 64), "index_block")
        require(self.index_bits == 8 or (self.stages, self.entries) == (4, 64), "index_bits")
        self.codebook_bytes = (self.directory / "codebooks.bin").read_bytes()

    # --- Section 7: dense tensors -----------------------------------------------------------------------------

    def trunk(self):
        """Yields (name, values) of every tensor of trunk.bin."""
        for entry in self.manifest["trunk"]:
            yield entry["name"], self.trunk_tensor(entry)

    def trunk_tensor(self, entry):
        columns = entry["shape"][-1]
        rows = 1
        for dimension in entry["shape"][:-1]:
            rows *= dimension
        kind = entry["fmt"]
        require(kind in (F32, Q8G, Q4G, Q3G), entry["name"] + ": fmt")
        if kind == F32:
            values = array.array("f")
            payload = self.slice_of_trunk(entry, entry["off"], 4 * rows * columns)
            values.frombytes(payload)
            self.check_tensor(entry, payload, b"")
            return values
        group = entry.get("group", 128)
        groups = ceil_div(columns, group)
        row_bytes = {Q8G: groups * group, Q4G: groups * group // 2, Q3G: (groups * group * 3 + 7) // 8 + 1}[kind]
        payload = self.slice_of_trunk(entry, entry["off"], rows * row_bytes)
        scale_bytes = self.slice_of_trunk(entry, entry.get("scale_off", 0), 2 * rows * groups)
        self.check_tensor(entry, payload, scale_bytes)
        scales = halves(scale_bytes)
        unpack = {Q8G: unpack_q8, Q4G: unpack_q4, Q3G: unpack_q3}[kind]
        values = array.array("f")
        for row in range(rows):
            codes = unpack(payload[row * row_bytes : (row + 1) * row_bytes], groups * group)
            for g in range(groups):
                scale = scales[row * groups + g]
                begin, end = g * group, min((g + 1) * group, columns)
                # A product of eleven bits and at most eight: exact in f32.
                values.extend([scale * q for q in codes[begin:end]])
        return values

    def slice_of_trunk(self, entry, offset, count):
        require(0 <= offset and offset + count <= len(self.trunk_bytes), entry["name"] + ": outside trunk.bin")
        return self.trunk_bytes[offset : offset + count]

    @staticmethod
    def check_tensor(entry, payload, scales):
        if "crc32" in entry:  # Section 15, item 1
            require(zlib.crc32(scales, zlib.crc32(payload)) == entry["crc32"], entry["name"] + ": crc32")

    # --- Section 6: codebooks ---------------------------------------------------------------------------------

    def codebook(self, number):
        """The vectors of one codebook, as arrays of vec_dim floats."""
        record = CODEBOOK_HEADER.size + 2 * self.entries * self.vec_dim
        data = self.codebook_bytes[number * record : (number + 1) * record]
        require(len(data) == record, "codebooks.bin is too short")
        magic, _, _, vec_dim, entries, _ = CODEBOOK_HEADER.unpack_from(data)
        require((magic, vec_dim, entries) == (0x4B424357, self.vec_dim, self.entries), "codebook %d" % number)
        values = halves(data[CODEBOOK_HEADER.size :])
        return [values[i * self.vec_dim : (i + 1) * self.vec_dim] for i in range(self.entries)]

    # --- Sections 3 to 5: experts -----------------------------------------------------------------------------

    def shapes(self):
        """[rows, columns] of gate, up and down."""
        config = self.manifest["config"]
        inner = config["moe_intermediate_size"]
        outer = config.get("routed_expert_hidden_size") or config["hidden_size"]
        return [(inner, outer), (inner, outer), (outer, inner)]

    def experts(self):
        """Yields (layer, expert, matrix name, values) of every expert matrix."""
        for key, entry in self.manifest["layers"].items():
            if not isinstance(entry, dict) or "file" not in entry:
                continue
            layer = int(key)
            base = entry["codebook_base"]
            books = [[self.codebook(base + k * self.stages + s) for s in range(self.stages)] for k in range(3)]
            bank = (self.directory / entry["file"]).read_bytes()
            stride = entry["bytes"] // entry["experts"]
            require(stride % 4096 == 0 and len(bank) >= entry["bytes"], entry["file"] + ": size")
            for expert in range(entry["experts"]):
                record = bank[expert * stride : (expert + 1) * stride]
                for k, values in enumerate(self.expert(record, layer, expert, base, books)):
                    yield layer, expert, MATRICES[k], values

    def expert(self, record, layer, expert, base, books):
        shapes = self.shapes()
        vectors = [columns // self.vec_dim for _, columns in shapes]
        width = 3 if self.index_bits == 6 else self.stages
        padded = [ceil_div(rows, 64) * 64 if self.index_block else rows for rows, _ in shapes]
        sizes = [padded[k] * vectors[k] * width for k in range(3)]
        offsets = [48, 48 + sizes[0], 48 + sizes[0] + sizes[1], 48 + sum(sizes)]
        payload_end = offsets[3] + 2 * sum(rows for rows, _ in shapes)

        header = RECORD_HEADER.unpack_from(record)
        magic, in_layer, in_expert, kind, _, in_base, lowrank, _, blocks = header[:9]
        place = "expert %d of layer %d: " % (expert, layer)
        require(magic == 0x50584557 and (in_layer, in_expert) == (layer, expert), place + "identity")
        require(kind == 8 if self.index_bits == 6 else kind in (4, 5), place + "fmt")
        require(in_base == base and lowrank == 0 and blocks * 4096 == len(record), place + "header")
        require(list(header[9:13]) == offsets, place + "offsets")
        require(zlib.crc32(record[48:payload_end]) == header[13], place + "crc32")
        if header[14]:  # Section 15, item 2
            blank = record[:40] + b"\0\0\0\0" + record[44:48]
            require(zlib.crc32(blank) == header[14], place + "header crc32")

        scales = halves(record[offsets[3] : payload_end])
        first = 0
        for k, (rows, columns) in enumerate(shapes):
            indices = record[offsets[k] : offsets[k] + sizes[k]]
            yield self.matrix(indices, rows, vectors[k], width, books[k], scales[first : first + rows])
            first += rows

    def matrix(self, indices, rows, vectors, width, books, scales):
        values = array.array("f")
        for row in range(rows):
            codes = self.row_codes(indices, row, vectors, width)
            total = array.array("f", bytes(4 * vectors * self.vec_dim))
            for stage, book in enumerate(books):
                part = array.array("f")
                for code in codes[stage]:
                    part.extend(book[code])
                # Each sum is rounded to f32 when it enters the array, as section 3 asks for.
                total = array.array("f", map(operator.add, total, part))
            scale = scales[row]
            values.extend(array.array("f", [scale * x for x in total]))
        return values

    def row_codes(self, indices, row, vectors, width):
        """Codes of one row, [stage][vector position]."""
        if self.index_block:
            step = self.index_block * width
            start = (row // self.index_block) * vectors * step + (row % self.index_block) * width
        else:
            step = width
            start = row * vectors * width
        columns = [indices[start + b : start + b + (vectors - 1) * step + 1 : step] for b in range(width)]
        if self.index_bits == 8:
            return columns
        b0, b1, b2 = columns
        return [
            [x & 63 for x in b0],
            [(x >> 6 | y << 2) & 63 for x, y in zip(b0, b1)],
            [(x >> 4 | y << 4) & 63 for x, y in zip(b1, b2)],
            [x >> 2 for x in b2],
        ]


def unpack_q8(row, _):
    return array.array("b", row)


def unpack_q4(row, count):
    codes = [0] * count
    codes[0::2] = [(byte & 15) - 8 for byte in row]
    codes[1::2] = [(byte >> 4) - 8 for byte in row]
    return codes


def unpack_q3(row, count):
    bits = int.from_bytes(row, "little")
    return [(bits >> 3 * i & 7) - 4 for i in range(count)]


def digest(values):
    """Of the f32 bytes, little-endian and row-major."""
    if sys.byteorder != "little":
        values = array.array("f", values)
        values.byteswap()
    return hashlib.sha256(values.tobytes()).hexdigest()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    container = Container(sys.argv[1])
    decoded = {name: digest(values) for name, values in container.trunk()}
    for layer, expert, matrix, values in container.experts():
        decoded["%d/%d/%s" % (layer, expert, matrix)] = digest(values)
    json.dump(decoded, sys.stdout, indent=0, sort_keys=True)


if __name__ == "__main__":
    try:
        main()
    except Refused as refusal:
        sys.exit("refused: %s" % refusal)
