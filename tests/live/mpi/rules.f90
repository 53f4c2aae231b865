! SPDX-License-Identifier: MIT
! A program of MPI in Fortran with a call for each rule of what is passed on, as rules.c has them. With
! -DF08 it uses the interface of Fortran 2008, whose functions have other names and handles.
program rules
#ifdef F08
  use mpi_f08
  implicit none
  type(mpi_comm) :: comm
  type(mpi_datatype) :: column
  type(mpi_request) :: requests(2)
#else
  use mpi
  implicit none
  integer :: comm, column, requests(2)
#endif
  integer, parameter :: most = 64
  integer :: error, rank, ranks, i
  integer :: out(4096), in(4096), counts(most), places(most)

  out = 0
  call mpi_init(error)
  call mpi_comm_rank(mpi_comm_world, rank, error)
  call mpi_comm_size(mpi_comm_world, ranks, error)
  call mpi_comm_dup(mpi_comm_world, comm, error)
  call mpi_type_vector(3, 2, 4, mpi_integer, column, error)
  call mpi_type_commit(column, error)
  do i = 1, ranks
    counts(i) = i
    places(i) = i * i
  end do
  do i = 1, 20
    if (rank == 0) then
      call mpi_send(out, 100, mpi_integer, 1, 0, comm, error)
    else if (rank == 1) then
      call mpi_recv(in, 100, mpi_integer, 0, 0, comm, mpi_status_ignore, error)
    end if
    call mpi_send(out, 100, mpi_integer, mpi_proc_null, 0, comm, error)
    call mpi_allreduce(mpi_in_place, out, 3, mpi_double_precision, mpi_sum, comm, error)
    call mpi_bcast(out, 2, column, 1, comm, error)
    call mpi_gather(out, 3, mpi_integer, in, 3, mpi_integer, 0, comm, error)
    call mpi_allgatherv(out, rank + 1, mpi_integer, in, counts, places, mpi_integer, comm, error)
    call mpi_alltoall(out, 2, mpi_integer, in, 2, mpi_integer, comm, error)
    call mpi_reduce(out, in, 4, mpi_integer, mpi_sum, 0, comm, error)
    call mpi_barrier(comm, error)
  end do
  call mpi_send_init(out, 10, mpi_integer, mod(rank + 1, ranks), 3, comm, requests(1), error)
  call mpi_recv_init(in, 10, mpi_integer, mod(rank + ranks - 1, ranks), 3, comm, requests(2), error)
  do i = 1, 20
    call mpi_startall(2, requests, error)
    call mpi_waitall(2, requests, mpi_statuses_ignore, error)
    call mpi_start(requests(2), error)
    call mpi_start(requests(1), error)
    call mpi_waitall(2, requests, mpi_statuses_ignore, error)
  end do
  call mpi_finalize(error)
end program rules
