#pragma once

#include "kernels/code_search.h"
#include "kernels/product_tables.h"
#include "kernels/reduced_inputs.h"
#include "kernels/weight_views.h"

#include <cstddef>
#include <cstdint>

namespace waste::kernels {

inline constexpr std::size_t kVqVectorsMax = 4; // that multiplyVqRows takes
inline constexpr std::size_t kPanelRows = 16; // of a matrix, in one panel

// The loops that depend on the instruction set. One table per set; scalar.cpp is the specification.
//
// The exact kernels differ over the tables by the order of summation only, 1e-6 of Σ|terms|; the reduced
// ones, at the end, not by a bit. The value of one output element never depends on which other elements the
// same call computes, so work may be cut anywhere. Pointers need no alignment beyond their type's.
struct KernelTable {
    const char* name; // "scalar", "avx2", "avx512", "avx512vbmi", "neon", "neon-dotprod"

    // Σ x[i]·w[i]
    float (*dot)(const float* x, const float* w, std::size_t count);
    // y[i] += a·x[i]
    void (*addScaled)(float a, const float* x, float* y, std::size_t count);

    // y[r] = Σ_c W[r][c]·x[c] for begin ≤ r < end; weights are dequantised in registers.
    void (*multiplyRows)(const MatrixView& matrix, const float* x, float* y, std::uint32_t begin, std::uint32_t end);
    // For every vector; decoding an expert's rows costs more than multiplying them, so that a few vectors together
    // take little longer than one.
    struct Vectors {
        const float* x; // [tokens][columns]
        std::size_t xStride;
        std::size_t tokens; // at most kVqVectorsMax
        float* y; // [tokens][rows]
        std::size_t yStride;
    };
    void (*multiplyVqRows)(const VqMatrixView& matrix, const Vectors& vectors, std::uint32_t begin, std::uint32_t end);
    // The same of a lone vector but for rounding, by lookups in tables of floats; kNoTables where those are not faster.
    ProductTables exactTables;

    // Columns [begin, end) of one row as f32, exactly as stored (spec: container 3 and 7). `begin` is a multiple of 8.
    void (*unpackRow)(
        const MatrixView& matrix, std::uint32_t row, std::uint32_t begin, std::uint32_t end, float* values);
    // The same for rows [rowBegin, rowEnd) of an expert, `stride` values apart; `begin` is a multiple of vecDim.
    void (*unpackVqRows)(const VqMatrixView& matrix, std::uint32_t rowBegin, std::uint32_t rowEnd, std::uint32_t begin,
        std::uint32_t end, float* values, std::size_t stride);

    // y[t·yStride + r] = Σ_c w[r·wStride + c]·x[t·xStride + c]; added to y if `accumulate`.
    struct RowsTimesTokens {
        const float* w; // [rows][columns]
        std::size_t wStride;
        std::size_t rows;
        const float* x; // [tokens][columns]
        std::size_t xStride;
        std::size_t tokens;
        std::size_t columns;
        float* y; // [tokens][rows]
        std::size_t yStride;
        bool accumulate;
    };
    void (*multiplyTokens)(const RowsTimesTokens& product);

    // c[m·cStride + n] += Σ_k a[m·aRowStride + k·aDepthStride]·b[k·bStride + n]
    struct AddedProduct {
        const float* a;
        std::size_t aRowStride;
        std::size_t aDepthStride;
        const float* b; // [depth][columns]
        std::size_t bStride;
        float* c; // [rows][columns]
        std::size_t cStride;
        std::size_t rows;
        std::size_t depth;
        std::size_t columns;
    };
    void (*addProduct)(const AddedProduct& product);

    // Rows of a matrix, at most kPanelRows, turned so that a column lies in one piece; missing rows are zeros.
    // w [rows][columns] → panel [columns][kPanelRows]
    void (*packPanel)(const float* w, std::size_t wStride, std::size_t rows, std::size_t columns, float* panel);
    // y[t·yStride + r] = Σ_c panel[c][r]·x[t·xStride + c] for r < rows; added to y if `accumulate`. For many tokens
    // faster than multiplyTokens by as much as turning the rows costs for few.
    struct PanelTimesTokens {
        const float* panel; // [columns][kPanelRows]
        std::size_t rows;
        const float* x; // [tokens][columns]
        std::size_t xStride;
        std::size_t tokens;
        std::size_t columns;
        float* y; // [tokens][rows]
        std::size_t yStride;
        bool accumulate;
    };
    void (*multiplyPanel)(const PanelTimesTokens& product);

    // values[i] = e^(later[i] − earlier[i]), the difference taken in f64 (spec: model 6.5, rule 3)
    void (*expOfDifference)(const double* later, const double* earlier, float* values, std::size_t count);
    // x[i] ← e^(x[i] − maximum); returns the sum
    float (*expAndSum)(float* x, float maximum, std::size_t count);
    // y[i] ← y[i]·σ(t[i])
    void (*multiplySigmoid)(const float* t, float* y, std::size_t count);
    // gate[i] ← act(gate[i], up[i]) (spec: model 6.8)
    void (*silu)(float* gate, const float* up, std::size_t count);
    struct Situ {
        float beta;
        float linearBeta; // 0: the up half is not squashed
    };
    void (*situ)(Situ parameters, float* gate, const float* up, std::size_t count);
    // x[i] ← x[i]·σ(x[i])
    void (*siluInPlace)(float* x, std::size_t count);
    // g[i] = the logarithm of what a key channel keeps of its row of S, never above 0 (spec: model 6.4 step 4)
    struct LogDecay {
        float rate = 0; // e^A_log of the head
        float lowerBound = 0; // < 0: lowerBound·σ(rate·z); else −rate·softplus(z)
    };
    void (*logDecay)(LogDecay parameters, const float* z, float* g, std::size_t count);
    // x[i] ← 0.5·x[i]·(1 + tanh(√(2/π)·(x[i] + 0.044715·x[i]³))) (spec: vision 3.3)
    void (*geluTanh)(float* x, std::size_t count);

    // One token of one KDA head (spec: model 6.4 step 7). S [dim][dim], row = key channel.
    struct KdaStep {
        float* state;
        std::size_t dim;
        const float* query; // normalised and scaled
        const float* key; // normalised
        const float* value;
        const float* decay; // e^g, per key channel
        float beta;
        float* output; // [dim]
    };
    void (*kdaStep)(const KdaStep& step);

    // ---- reduced kernels (see reduced_inputs.h)

    // Splits one vector into the planes of input.bytes and words[0..], scales and sums. A group with a value that is
    // not finite gets a scale that is not a number.
    void (*splitPlanes)(const float* x, std::size_t columns, const PlaneInput& planes);
    // y[t·yStride + r] = Σ_c W[r][c]·x[t][c] for begin ≤ r < end; W is Q4G or Q8G with groups of kPlaneGroup.
    void (*multiplyPlanes)(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride,
        std::uint32_t begin, std::uint32_t end);

    // Products of an expert with a lone vector.
    ProductTables reducedTables;

    // `columns` of a vector (a multiple of kWordColumns, at most kWordGroup) become words.
    void (*splitWords)(const float* x, std::size_t columns, WordGroup& group);
    // Columns [begin, end) of the index block of rows that begins at `row` as sums of integer entries, pairs of columns
    // of all rows side by side; rows after the last one have indices too. `begin` is a multiple of vecDim.
    void (*unpackVqWords)(const VqMatrixView& matrix, const WordBooks& books, std::uint32_t row, std::uint32_t begin,
        std::uint32_t end, std::int16_t* words); // [columns / 2][kWordRows][2]
    // y[v][r] += x[v].scale·Σ_c w[c][r]·x[v].values[c]
    struct WordProduct {
        const std::int16_t* w; // [columns / 2][kWordRows][2]
        const WordGroup* x; // [count]
        std::size_t columns;
        std::size_t count;
        float* y; // [count][kWordRows]
    };
    void (*addWordProduct)(const WordProduct& product);

    // ---- for the converter; the same codes from all tables

    // vectors [count][kCodeColumns] → the nearest entry of each; of equally near ones the first.
    void (*nearestEntries)(const CodeBook& book, const float* vectors, std::size_t count, std::uint8_t* entries);
    // vectors [count][kCodeColumns] → codes [count][stages]. Any bytes are legal vectors, codes are always in range.
    void (*searchCodes)(
        const CodeBooks& books, BeamWidth width, const float* vectors, std::size_t count, std::uint8_t* codes);
};

const KernelTable& scalarTable();
const KernelTable& avx2Table(); // x86-64 only
const KernelTable& avxVnniTable();
const KernelTable& avx512Table(); // x86-64 only; F, BW, VL and DQ
const KernelTable& avx512VbmiTable(); // x86-64 only; and VBMI and VNNI
const KernelTable& neonTable(); // arm64 only
const KernelTable& neonDotprodTable(); // arm64 only

} // namespace waste::kernels
