! SPDX-License-Identifier: MIT
! A program of MPI in Fortran whose calls are known: 100 rounds of each.
program calls
  use mpi
  implicit none
  integer :: error, rank, i, values(100)
  double precision :: own, total

  values = 0
  call mpi_init(error)
  call mpi_comm_rank(mpi_comm_world, rank, error)
  own = rank
  do i = 1, 100
    if (rank == 0) then
      call mpi_send(values, 100, mpi_integer, 1, 0, mpi_comm_world, error)
    else if (rank == 1) then
      call mpi_recv(values, 100, mpi_integer, 0, 0, mpi_comm_world, mpi_status_ignore, error)
    end if
    call mpi_allreduce(own, total, 1, mpi_double_precision, mpi_sum, mpi_comm_world, error)
  end do
  call mpi_finalize(error)
end program calls
