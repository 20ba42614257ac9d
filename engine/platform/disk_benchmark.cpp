// What a disk delivers: several threads that each wait for one read at a time, as many as reads are wanted.

#include "waste/disk_benchmark.h"

#include "platform/direct_file.h"
#include "platform/file_lock.h"
#include "platform/output_file.h"
#include "platform/pages.h"
#include "platform/path_text.h"
#include "platform/processes.h"
#include "platform/volume_space.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace waste {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kFileBytesMin = std::uint64_t{64} << 20; // smaller files of a folder are passed over
constexpr std::uint64_t kFolderBytesMin = std::uint64_t{512} << 20; // less is in some drives' own cache
constexpr std::uint64_t kRecordBytesMax = std::uint64_t{1} << 30;
constexpr std::uint32_t kDepthMax = 64;
constexpr std::uint64_t kSequentialBytes = std::uint64_t{4} << 20;
constexpr std::uint32_t kSequentialDepth = 4;
constexpr std::string_view kTestFilePrefix = "waste-diskbench-";
constexpr std::string_view kTestFileSuffix = ".tmp";
constexpr std::uint64_t kFreeBytesKept = std::uint64_t{1} << 30; // a test file never fills a disk

// splitmix64: which record comes next.
class RecordOrder {
public:
    explicit RecordOrder(std::uint64_t seed)
        : m_state(seed)
    {
    }
    std::uint64_t below(std::uint64_t bound)
    {
        std::uint64_t z = m_state += 0x9E3779B97F4A7C15U;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return (z ^ (z >> 31)) % bound;
    }

private:
    std::uint64_t m_state;
};

bool isTestFile(const fs::path& path)
{
    const std::string name = textFromPath(path.filename());
    if (!name.starts_with(kTestFilePrefix) || !name.ends_with(kTestFileSuffix))
        return false;
    const auto number = std::string_view(name).substr(
        kTestFilePrefix.size(), name.size() - kTestFilePrefix.size() - kTestFileSuffix.size());
    return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
}

// A file of the benchmark's own, removed with this object, or by the next run where the program was killed. Its bytes
// are of no pattern that a drive could compress.
class TestFile {
public:
    // Those of programs that have ended, which a process number would not tell: it may be another's by now. What
    // cannot be removed stays.
    static void removeLeft(const fs::path& folder)
    {
        std::vector<fs::path> left;
        std::error_code error;
        for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
            if (isTestFile(entry->path()))
                left.push_back(entry->path());
        }
        for (const fs::path& path : left) {
            if (auto lock = FileLock::acquire(lockOf(path)))
                const TestFile removed(path, std::move(*lock));
        }
    }

    static Result<TestFile> write(const fs::path& folder, std::uint64_t bytes, const CancelFlag* cancel)
    {
        WASTE_TRY(const std::uint64_t freeBytes, freeSpaceBytes(folder));
        if (freeBytes < bytes + kFreeBytesKept) {
            return Error{ErrorCode::NoSpace, "",
                textFromPath(folder) + ": a test file of " + std::to_string(bytes >> 20) + " MiB does not fit ("
                    + std::to_string(freeBytes >> 20) + " MiB are free, and " + std::to_string(kFreeBytesKept >> 20)
                    + " of them stay so); name a folder with large files instead"};
        }
        const fs::path path =
            folder / (std::string(kTestFilePrefix) + std::to_string(currentProcessId()) + std::string(kTestFileSuffix));
        WASTE_TRY(FileLock lock, FileLock::acquire(lockOf(path)));
        TestFile file(path, std::move(lock));
        WASTE_TRY(OutputFile output, OutputFile::open(file.m_path, OutputFile::Mode::Replace));
        RecordOrder random(1);
        std::vector<std::uint64_t> block(kSequentialBytes / sizeof(std::uint64_t));
        for (std::uint64_t done = 0; done < bytes; done += kSequentialBytes) {
            if (cancel != nullptr && cancel->isCancelled())
                return Error{ErrorCode::Cancelled, "", "the disk benchmark was cancelled"};
            for (std::uint64_t& word : block)
                word = random.below(UINT64_MAX);
            WASTE_TRY_STATUS(output.append(std::as_bytes(std::span(block))));
        }
        WASTE_TRY_STATUS(output.flush());
        WASTE_TRY_STATUS(output.close());
        return file;
    }
    TestFile(TestFile&& other) noexcept
        : m_path(std::exchange(other.m_path, {}))
        , m_lock(std::exchange(other.m_lock, std::nullopt))
    {
    }
    TestFile& operator=(TestFile&&) = delete;
    ~TestFile()
    {
        if (m_path.empty())
            return;
        std::error_code ignored;
        fs::remove(m_path, ignored);
        m_lock.reset(); // Windows removes no open file
        fs::remove(lockOf(m_path), ignored);
    }
    [[nodiscard]] const fs::path& path() const { return m_path; }

private:
    TestFile(fs::path path, FileLock lock)
        : m_path(std::move(path))
        , m_lock(std::move(lock))
    {
    }
    // A file of its own: of a locked file not every system lets one read.
    static fs::path lockOf(fs::path path) { return path += ".lock"; }

    fs::path m_path;
    std::optional<FileLock> m_lock;
};

std::vector<fs::path> largeFiles(const fs::path& folder)
{
    std::vector<fs::path> files;
    std::uint64_t bytes = 0;
    std::error_code error; // what cannot be read is not measured
    for (fs::directory_iterator entry(folder, error), end; entry != end; entry.increment(error)) {
        if (!entry->is_regular_file(error) || entry->file_size(error) < kFileBytesMin)
            continue;
        if (textFromPath(entry->path().filename()).starts_with(kTestFilePrefix))
            continue; // of another run, which may go at any moment
        files.push_back(entry->path());
        bytes += entry->file_size(error);
    }
    std::sort(files.begin(), files.end());
    return bytes >= kFolderBytesMin ? files : std::vector<fs::path>{};
}

class DiskBenchmark {
public:
    DiskBenchmark(const DiskBenchmarkOptions& options, const ProgressSink& progress, const CancelFlag* cancel)
        : m_options(options)
        , m_progress(progress)
        , m_cancel(cancel)
    {
    }

    Status open(std::span<const fs::path> paths)
    {
        const auto access = m_options.directIo ? DirectFile::Access::Direct : DirectFile::Access::Buffered;
        m_report.directIo = true;
        for (const fs::path& path : paths) {
            WASTE_TRY(DirectFile file, DirectFile::open(path, access));
            m_report.directIo = m_report.directIo && file.isDirect();
            m_report.fileBytes += file.sizeBytes();
            m_files.push_back(std::move(file));
        }
        if (places(m_options.recordBytes) == 0) {
            return Error{ErrorCode::InvalidArgument, "",
                textFromPath(m_options.path) + " is too small to measure a disk with; name a file of hundreds of MiB"};
        }
        return {};
    }

    Result<DiskBenchmarkReport> run()
    {
        const std::uint64_t steps = m_options.depths.size() + 1;
        std::uint64_t step = 0;
        tell(step++, steps);
        std::atomic<std::uint64_t> next = 0; // the place of the next sequential read; orders nothing
        const std::uint64_t piece = std::min(kSequentialBytes, m_options.recordBytes);
        const std::uint64_t placeCount = places(piece); // one at least, as open() has made sure
        WASTE_TRY(const Run sequential, readFor(piece, kSequentialDepth, [&](RecordOrder&) {
            return next.fetch_add(1, std::memory_order_relaxed) % placeCount;
        }));
        m_report.sequentialBytesPerSecond = sequential.bytesPerSecond;
        for (const std::uint32_t depth : m_options.depths) {
            tell(step++, steps);
            const std::uint64_t records = places(m_options.recordBytes);
            WASTE_TRY(Run random,
                readFor(m_options.recordBytes, depth, [&](RecordOrder& order) { return order.below(records); }));
            std::sort(random.latenciesMs.begin(), random.latenciesMs.end());
            const std::size_t count = random.latenciesMs.size();
            m_report.random.push_back({.depth = depth,
                .bytesPerSecond = random.bytesPerSecond,
                .latencyMedianMs = random.latenciesMs[count / 2],
                .latencyP95Ms = random.latenciesMs[count * 95 / 100]});
        }
        tell(steps, steps);
        return m_report;
    }

    void setWroteTestFile() { m_report.wroteTestFile = true; }

private:
    struct Run {
        double bytesPerSecond = 0;
        std::vector<double> latenciesMs; // at least one
    };
    using NextPlace = std::function<std::uint64_t(RecordOrder&)>;

    // How many pieces of this size the files hold.
    [[nodiscard]] std::uint64_t places(std::uint64_t pieceBytes) const
    {
        std::uint64_t count = 0;
        for (const DirectFile& file : m_files)
            count += file.sizeBytes() / pieceBytes;
        return count;
    }

    [[nodiscard]] Status readPlace(std::uint64_t place, std::span<std::byte> target) const
    {
        for (const DirectFile& file : m_files) {
            const std::uint64_t count = file.sizeBytes() / target.size();
            if (place < count)
                return file.readExactly(place * target.size(), target);
            place -= count;
        }
        return {};
    }

    // What one of the threads of a run does until the time is up.
    Status readUntil(
        Clock::time_point deadline, std::span<std::byte> target, RecordOrder order, const NextPlace& next, Run& run)
    {
        do {
            if (m_cancel != nullptr && m_cancel->isCancelled())
                return Error{ErrorCode::Cancelled, "", "the disk benchmark was cancelled"};
            const auto start = Clock::now();
            WASTE_TRY_STATUS(readPlace(next(order), target));
            run.latenciesMs.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
        } while (!m_stopping.load(std::memory_order_relaxed) && Clock::now() < deadline);
        return {};
    }

    Result<Run> readFor(std::uint64_t pieceBytes, std::uint32_t depth, const NextPlace& next)
    {
        WASTE_TRY(const Pages pages, Pages::allocate(pieceBytes * depth, "the disk benchmark"));
        std::vector<Run> runs(depth);
        std::vector<Status> outcomes(depth);
        const auto start = Clock::now();
        const auto deadline = start + m_options.timePerRun;
        std::vector<std::thread> threads;
        threads.reserve(depth);
        try {
            for (std::uint32_t t = 0; t < depth; ++t) {
                threads.emplace_back([&, t] {
                    const auto target = pages.bytes().subspan(t * pieceBytes, pieceBytes);
                    outcomes[t] = readUntil(deadline, target, RecordOrder(t + 1), next, runs[t]);
                });
            }
        } catch (const std::exception&) {
            // The system is out of threads, or of memory for them. Fewer would measure something else.
            m_stopping.store(true, std::memory_order_relaxed);
        }
        const std::size_t started = threads.size();
        for (std::thread& thread : threads)
            thread.join();
        for (Status& outcome : outcomes)
            WASTE_TRY_STATUS(std::move(outcome));
        if (started < depth)
            return Error{ErrorCode::OutOfMemory, "threads",
                "the system starts " + std::to_string(started) + " of " + std::to_string(depth)
                    + " threads and no more, so that many reads cannot be under way; measure fewer at a time"};
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();

        Run all;
        for (const Run& run : runs)
            all.latenciesMs.insert(all.latenciesMs.end(), run.latenciesMs.begin(), run.latenciesMs.end());
        all.bytesPerSecond = static_cast<double>(all.latenciesMs.size() * pieceBytes) / seconds;
        return all;
    }

    void tell(std::uint64_t done, std::uint64_t total) const
    {
        if (m_progress)
            m_progress({"disk", done, total});
    }

    const DiskBenchmarkOptions& m_options;
    const ProgressSink& m_progress;
    const CancelFlag* m_cancel;
    std::atomic<bool> m_stopping = false; // a hint to read no more, orders nothing
    std::vector<DirectFile> m_files;
    DiskBenchmarkReport m_report;
};

Status check(const DiskBenchmarkOptions& options)
{
    const std::uint64_t bytes = options.recordBytes;
    if (bytes == 0 || bytes % kDirectIoAlignment != 0 || bytes > kRecordBytesMax)
        return Error{ErrorCode::InvalidArgument, "", "the size of a read is a multiple of 4096 bytes, at most 1 GiB"};
    for (const std::uint32_t depth : options.depths)
        if (depth == 0 || depth > kDepthMax)
            return Error{ErrorCode::InvalidArgument, "", "1 to 64 reads can be under way at a time"};
    return {};
}

} // namespace

double DiskBenchmarkReport::bestRandomBytesPerSecond() const
{
    double best = 0;
    for (const Random& run : random)
        best = std::max(best, run.bytesPerSecond);
    return best;
}

Result<DiskBenchmarkReport> measureDisk(
    const DiskBenchmarkOptions& options, const ProgressSink& progress, const CancelFlag* cancel)
{
    WASTE_TRY_STATUS(check(options));
    std::error_code error;
    if (!fs::exists(options.path, error))
        return Error{ErrorCode::NotFound, "", textFromPath(options.path) + ": there is no such file or folder"};
    DiskBenchmark benchmark(options, progress, cancel);
    if (!fs::is_directory(options.path, error)) {
        WASTE_TRY_STATUS(benchmark.open(std::span(&options.path, 1)));
        return benchmark.run();
    }
    TestFile::removeLeft(options.path);
    if (const std::vector<fs::path> files = largeFiles(options.path); !files.empty()) {
        WASTE_TRY_STATUS(benchmark.open(files));
        return benchmark.run();
    }
    if (options.testFileBytes < options.recordBytes)
        return Error{ErrorCode::InvalidArgument, "",
            "a test file of " + std::to_string(options.testFileBytes) + " bytes holds no read of "
                + std::to_string(options.recordBytes) + "; make the file larger, or the reads smaller"};
    WASTE_TRY(const TestFile file, TestFile::write(options.path, options.testFileBytes, cancel));
    benchmark.setWroteTestFile();
    WASTE_TRY_STATUS(benchmark.open(std::span(&file.path(), 1)));
    return benchmark.run();
}

} // namespace waste
