#include "cli/eval_files.h"

#include "cli/token_scores.h"

#include "waste/files.h"

#include <nlohmann/json.hpp>

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace waste::cli {

namespace {

static_assert(std::endian::native == std::endian::little, "f32 values are written as they lie in memory");

Error failed(const std::filesystem::path& path, int errorNumber)
{
    const ErrorCode code = errorNumber == ENOSPC ? ErrorCode::NoSpace
        : errorNumber == ENOENT                  ? ErrorCode::NotFound
                                                 : ErrorCode::Io;
    return {code, "",
        textOfPath(path) + " cannot be written: " + (errorNumber != 0 ? std::strerror(errorNumber) : "unknown reason")};
}

} // namespace

Result<EvalFile> EvalFile::create(const std::filesystem::path& path)
{
    errno = 0;
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    if (!stream)
        return failed(path, errno);
    return EvalFile(path, std::move(stream));
}

EvalFile::EvalFile(std::filesystem::path path, std::ofstream stream)
    : m_path(std::move(path))
    , m_stream(std::move(stream))
{
}

void EvalFile::writeLogits(std::span<const float> logits)
{
    errno = 0;
    if (!m_stream.write(reinterpret_cast<const char*>(logits.data()), static_cast<std::streamsize>(logits.size_bytes()))
        && m_errno == 0)
        m_errno = errno;
}

void EvalFile::writeLayer(const LayerTrace& trace)
{
    nlohmann::ordered_json line = {
        {"layer", trace.layer}, {"position", trace.position}, {"norm", nineDigits(trace.norm)}};
    if (!trace.experts.empty()) {
        line["experts"] = trace.experts;
        line["weights"] = nlohmann::ordered_json::array();
        for (const float weight : trace.weights)
            line["weights"].push_back(nineDigits(weight));
    }
    errno = 0;
    if (!(m_stream << line.dump() << '\n') && m_errno == 0)
        m_errno = errno;
}

Status EvalFile::finish()
{
    errno = 0;
    if (m_stream.flush())
        return {};
    return failed(m_path, m_errno != 0 ? m_errno : errno);
}

} // namespace waste::cli
