#pragma once

#include "support/wide_container/wide_model.h"
#include "waste/result.h"

#include <filesystem>

namespace waste::test {

// Bytes that writeWideContainer() will write.
Result<std::uint64_t> wideContainerBytes(const WideModel& model);

// Makes a `.waste` container of random weights, complete in every respect: it opens, runs and passes the
// verifier. The same model gives the same bytes on every machine. The manifest is written last, so a directory
// that has one is whole. Everything is on the device when this returns, so that a measurement which follows has
// the disk for itself. Errors: InvalidArgument (a model out of range), NoSpace before anything is written, Io.
Status writeWideContainer(const std::filesystem::path& directory, const WideModel& model);

} // namespace waste::test
