#pragma once

#include "kernels/kernel_table.h"
#include "waste/result.h"

#include <vector>

namespace waste::kernels {

// The fastest table this CPU runs, or the one that the environment variable WASTE_ISA names: scalar, avx2,
// avxvnni, avx512, avx512vbmi, neon, neon-dotprod.
// Errors: Unsupported for a name that is unknown or that this CPU or build lacks.
Result<const KernelTable*> selectKernels();
Result<const KernelTable*> selectKernels(const char* isa); // null or "": the fastest

// Names of all tables of this build, fastest first, whether or not this CPU runs them.
std::vector<const char*> instructionSets();

} // namespace waste::kernels
